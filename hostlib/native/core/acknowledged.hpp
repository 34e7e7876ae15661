// Sends that an ACK has ended, the latest of them: a receiver that still asks for one did not send that ACK.
// A table that forgets the older of two whose places meet; then the receiver waits as for a message that has
// not begun.
#pragma once

#include <cstdint>
#include <vector>

#include "message_name.hpp"

namespace csaud {

class Acknowledged {
  public:
    void add(const MessageName& name, std::uint16_t dst) {
        if (slots_.empty()) slots_.resize(kSlots);
        slots_[place(name, dst)] = {name, dst, true};
    }
    bool contains(const MessageName& name, std::uint16_t dst) const noexcept {
        if (slots_.empty()) return false;
        const Slot& slot = slots_[place(name, dst)];
        return slot.used && slot.dst == dst && slot.name == name;
    }
    std::size_t bytes() const noexcept { return slots_.capacity() * sizeof(Slot); }

  private:
    static constexpr std::size_t kSlots = 1024;  // a power of two
    struct Slot {
        MessageName name;
        std::uint16_t dst = 0;
        bool used = false;
    };
    static std::size_t place(const MessageName& name, std::uint16_t dst) noexcept {
        return (hash_value(name) + dst) & (kSlots - 1);
    }

    std::vector<Slot> slots_;
};

}  // namespace csaud
