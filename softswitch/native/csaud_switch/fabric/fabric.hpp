// Switches, their ports, and the links between them, under one clock.
//
// The clock is the caller's: advance() makes everything happen that is due. A runner (io/runner.hpp) calls it
// with the real time; tests and simulators call it with a time of their own.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/fabric/interfaces.hpp"
#include "csaud_switch/fabric/port.hpp"
#include "csaud_switch/fabric/switch.hpp"

namespace csaud::sw {

struct LinkConfig {
    std::uint64_t rate_bps = 0;  // of each direction, 0: unlimited
    Nanos delay = 0;             // propagation
    std::uint32_t buffer_packets = 1024;
};

// A frame that left at a memory port.
struct OutFrame {
    const Switch* from = nullptr;
    PortId port = 0;
    std::vector<std::uint8_t> bytes;
    Nanos time = 0;  // of its last bit
};

class Fabric : public Wire {
  public:
    explicit Fabric(std::uint64_t seed) : seed_(seed) {}
    ~Fabric() override;
    Fabric(const Fabric&) = delete;
    Fabric& operator=(const Fabric&) = delete;

    Switch& add_switch(SwitchConfig config, bool own_seed);
    Switch& switch_at(const std::string& name) const;  // UnknownName
    const std::vector<std::unique_ptr<Switch>>& switches() const { return switches_; }

    Port& add_memory_port(Switch& at, PortId id, const LinkConfig& config);
    void add_link(Switch& a, PortId a_port, Switch& b, PortId b_port, const LinkConfig& config);
    // Of the interface's packets all are from this fabric's pool.
    Port& add_interface_port(Switch& at, PortId id, std::unique_ptr<Interface> interface,
                             const LinkConfig& config);
    void remove_port(Switch& at, PortId id);
    void set_port_queue(Switch& at, PortId id, const std::uint64_t* rate_bps, const std::uint32_t* buffer);
    // A memory port, or both ends of a link.
    void set_link(Switch& at, PortId id, bool up);

    Nanos now() const { return now_; }
    // A frame arrives at a memory port. InvalidArgument when `now` lies in the past or the frame is too long.
    void inject(Switch& at, PortId id, std::span<const std::uint8_t> frame, Nanos now);
    void packet_out(Switch& at, std::span<const std::uint8_t> packet);
    void advance(Nanos now);
    // The clock is a real one from now on. A fabric whose time has not begun yet begins now, and so do its
    // switches.
    void begin_real_time(Nanos now);
    Nanos next_event() const {
        return ready_.empty() ? (events_.empty() ? kNever : events_.front().time) : now_;
    }
    std::vector<OutFrame> take_frames();

    // --- for who runs it: its interfaces
    Interfaces& interfaces() { return interfaces_; }
    // Take what has arrived at an interface, `most` frames at most; how many there were.
    std::size_t receive(std::size_t interface, Nanos now, std::size_t most);
    // Let the interfaces send what is waiting.
    void flush_interfaces() { interfaces_.flush(now_); }

    // Another wire carries what switches send, under a clock of its own; nullptr: this fabric does again. The
    // present then moves as advance() says, with nothing to happen here. FailedPrecondition where something
    // is under way, or another wire has the switches already.
    void carried_by(Wire* other);
    bool carried() const { return carrier_ != this; }

    // --- Wire
    void transmit(Switch& from, Port& port, Packet* packet, Nanos end) override;
    void wake(Switch& from, Port& port, Nanos at) override;
    void packet_in(Switch& from) override;
    PacketPool& pool() override { return pool_; }

    // Called when a switch has got packets for the control plane.
    void (*on_packet_in)(void* context, Switch& from) = nullptr;
    void* packet_in_context = nullptr;

  private:
    struct Event {
        Nanos time;
        std::uint64_t serial;
        Switch* at;
        Port* port;
        Packet* packet;  // was sent by the port and arrives; none: the port may send again
        std::uint64_t epoch;
        bool operator>(const Event& other) const {
            return time != other.time ? time > other.time : serial > other.serial;
        }
    };

    void push(Event event);
    void run(const Event& event);
    void drain();
    // What its port sent reaches the other end.
    void arrive(const Event& event);
    void apply_config(Port& port, const LinkConfig& config);
    void lose(Switch& from, Port& port, Packet* packet);

    PacketPool pool_;
    Wire* carrier_ = this;
    std::uint64_t seed_;
    Nanos now_ = 0;
    std::uint64_t next_serial_ = 0;
    std::vector<Event> events_;  // a heap, the earliest first
    std::deque<Event> ready_;    // arrivals of this very moment
    std::vector<std::unique_ptr<Switch>> switches_;
    std::vector<OutFrame> out_;
    Interfaces interfaces_{pool_};
};

}  // namespace csaud::sw
