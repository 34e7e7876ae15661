// The ports of a fabric that are network interfaces: what arrives there and leaves, and whether they are up.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/fabric/interface.hpp"
#include "csaud_switch/fabric/port.hpp"
#include "csaud_switch/fabric/switch.hpp"

namespace csaud::sw {

class Interfaces {
  public:
    // What was sent, or could not be, goes back to the pool.
    explicit Interfaces(PacketPool& pool) : pool_(pool) {}

    struct Attached {
        std::unique_ptr<Interface> interface;  // none where the port was removed
        Switch* owner = nullptr;
        Port* port = nullptr;
    };
    const std::vector<Attached>& all() const { return all_; }
    const Interface& of(const Port& port) const { return *all_[place(port)].interface; }

    void attach(Switch& owner, Port& port, std::unique_ptr<Interface> interface);
    void detach(const Port& port, Nanos now);

    // Take what has arrived at an interface, by its place, `most` frames at most; how many there were. After
    // each of them: `settle`.
    template <typename Settle>
    std::size_t receive(std::size_t place, Nanos now, std::size_t most, const Settle& settle) {
        const Attached& entry = all_[place];
        if (!entry.interface) return 0;
        std::size_t total = 0;
        while (total < most) {
            const auto frames = entry.interface->receive();
            if (frames.empty()) break;
            total += frames.size();
            for (Packet* packet : frames) {
                entry.port->tell(packet->frame(), true, now);
                entry.owner->receive(packet, entry.port->id, now);
                settle();
            }
            if (frames.size() < Interface::kBatch) break;
        }
        entry.port->figures.rx_errors = entry.interface->rx_errors();
        return total;
    }

    // Leaves with the others of its batch, or when they are flushed.
    void send(const Port& port, Packet* packet, Nanos now);
    void flush(Nanos now);

    // Look again whether interfaces are up: all of them, or those of this number or name in any namespace.
    void check();
    void check(int index, const std::string& name);

  private:
    static std::size_t place(const Port& port) { return static_cast<std::size_t>(port.interface); }
    void flush(const Attached& entry, Nanos now);
    static void check(const Attached& entry);

    PacketPool& pool_;
    std::vector<Attached> all_;
};

}  // namespace csaud::sw
