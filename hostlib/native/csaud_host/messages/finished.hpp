// Messages received completely, or acknowledged, remembered after their state is gone: the latest ones by
// name, older ones by a watermark per (source, communicator). So a late PROBE is answered DONE, a late copy
// is known for a duplicate, and no name is used again.
#pragma once

#include <cstdint>
#include <vector>

#include "csaud_host/base/flat_map.hpp"
#include "csaud_host/wire/message_name.hpp"

namespace csaud {

class FinishedMessages {
  public:
    explicit FinishedMessages(std::size_t remembered) : limit_(remembered == 0 ? 1 : remembered) {}

    void add(const MessageName& name);
    // Ask only for names that have no live state: below the watermark, a live message is no finished one.
    bool contains(const MessageName& name) const noexcept;

    std::size_t bytes() const noexcept {
        return order_.capacity() * sizeof(MessageName) + names_.bytes() + watermarks_.bytes();
    }

  private:
    struct Stream {
        std::uint16_t src_rank = 0;
        std::uint16_t comm = 0;
        friend bool operator==(const Stream&, const Stream&) = default;
        friend std::uint64_t hash_value(const Stream& s) noexcept {
            return ((std::uint64_t{s.src_rank} << 16) | s.comm) * 0x9e3779b97f4a7c15ULL >> 13;
        }
    };
    struct Nothing {};

    std::size_t limit_;
    std::size_t oldest_ = 0;
    std::vector<MessageName> order_;  // a ring once it is full
    FlatMap<MessageName, Nothing> names_;
    FlatMap<Stream, std::uint32_t> watermarks_;  // coll_seq up to which all is finished
};

}  // namespace csaud
