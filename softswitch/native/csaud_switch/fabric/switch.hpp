// One switch: a program between ports. Time comes in with each call; what leaves goes to the wire.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "csaud_switch/fabric/control_plane_queue.hpp"
#include "csaud_switch/fabric/port.hpp"
#include "csaud_switch/program/interpreter.hpp"
#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

// What a switch needs of its surroundings.
class Wire {
  public:
    virtual ~Wire() = default;
    // A packet leaves by a port, its last bit at `end`. Takes the packet over.
    virtual void transmit(Switch& from, Port& port, Packet* packet, Nanos end) = 0;
    // serve(port) is to be called at this time.
    virtual void wake(Switch& from, Port& port, Nanos at) = 0;
    virtual void packet_in(Switch& from) = 0;
    // A packet ends here: the program dropped it, or its queue was full. Of who wants to know.
    virtual void dropped(const Packet&, Nanos) {}
    virtual PacketPool& pool() = 0;
};

struct SwitchConfig {
    std::string name;
    std::uint64_t device_id = 0;
    PortId cpu_port = 510;
    PortId drop_port = 511;
    std::uint32_t priority_queues = 8;
    std::uint64_t seed = 0;
    bool machine_code = true;  // of programs, where it can be made; otherwise they are interpreted
};

struct SwitchFigures {
    std::uint64_t rx = 0, copies = 0;
    std::uint64_t dropped_ingress = 0, dropped_egress = 0;
    std::uint64_t no_such_port = 0, bad_priority = 0, queue_full = 0, link_down = 0;
    std::uint64_t packet_in = 0, packet_in_overflow = 0;
    std::uint64_t tx = 0, tx_errors = 0;
    std::uint64_t flushed = 0;  // queued when the program was replaced or their port removed
    std::uint64_t assertions = 0;
    std::uint64_t resubmitted = 0, recirculated = 0;  // passes, not packets
    std::uint64_t looped = 0;                         // ended after too many passes
    std::uint64_t digests = 0, digest_overflow = 0;
};

// One copy of a clone session or multicast group.
struct Replica {
    PortId port = 0;
    std::uint32_t rid = 0;
};

struct CloneSession {
    std::vector<Replica> replicas;
    std::uint32_t truncate = 0;  // bytes of each copy, 0: all of them
};

class Switch {
  public:
    Switch(SwitchConfig config, Wire& wire, Nanos start);
    ~Switch();
    Switch(const Switch&) = delete;
    Switch& operator=(const Switch&) = delete;

    const SwitchConfig& config() const { return config_; }
    // Replace the program; what is queued is dropped, ports and their figures stay.
    void install(std::unique_ptr<Program> program);
    // Take over the program of a switch that has no traffic, with its entries, sessions and groups. Packets
    // see the one program or the other, and none is lost. keep_state: what both have goes on as it is.
    void adopt(Switch& filled, bool keep_state, Nanos now);
    // What leaves goes to another wire from now on; nothing of this switch is under way.
    void set_wire(Wire& wire) { wire_ = &wire; }
    // What the program's clock counts from.
    void set_start(Nanos start) { start_ = start; }
    bool loaded() const { return program_ != nullptr; }
    Program& program() const;  // FailedPrecondition without one
    std::vector<std::string> take_log();

    // --- ports
    Port& add_port(PortId id);
    void remove_port(Port& port);
    Port* find_port(PortId id) const { return id < ports_.size() ? ports_[id].get() : nullptr; }
    Port& port(PortId id) const;  // NotFound
    std::vector<Port*> ports() const;
    void set_port_up(Port& port, bool up);
    bool port_is_up(PortId id) const {
        const Port* found = find_port(id);
        return found != nullptr && found->up;
    }

    // --- packets
    // A frame has arrived. Takes the packet over; its slots and headers are set up here.
    void receive(Packet* packet, PortId port, Nanos now);
    // Send what the port may send by now.
    void serve(Port& port, Nanos now);
    // For the wire: a packet that was handed over could not be sent after all, or was.
    void count_sent(Port& port, std::uint32_t bytes) {
        ++port.figures.tx_packets;
        port.figures.tx_bytes += bytes;
        ++figures_.tx;
    }
    void count_lost(Port& port) {
        ++port.figures.link_down_drops;
        ++figures_.link_down;
    }
    void count_tx_error(Port& port) {
        ++port.figures.tx_errors;
        ++figures_.tx_errors;
    }
    void uncount_sent(Port& port, std::uint32_t bytes) {
        --port.figures.tx_packets;
        port.figures.tx_bytes -= bytes;
        --figures_.tx;
    }

    // What waits for the control plane.
    std::vector<std::vector<std::uint8_t>> take_packet_ins() { return to_control_.take_packets(); }
    std::vector<DigestSample> take_digests() { return to_control_.take_digests(); }

    // --- replication
    std::map<std::uint32_t, CloneSession> clone_sessions;
    std::map<std::uint32_t, std::vector<Replica>> multicast_groups;

    const SwitchFigures& figures() const { return figures_; }
    std::uint64_t queued() const;

  private:
    // Packets that go round for ever must not stop the others.
    static constexpr std::uint32_t kMaxPasses = 1024;
    static constexpr std::uint32_t kMaxAgain = 1024;  // at a time, as on the reference

    std::uint64_t microseconds(Nanos now) const { return static_cast<std::uint64_t>((now - start_) / 1000); }
    void ingress(Packet* packet, Nanos now);
    // Packets that enter ingress once more do so when the present one is done, before any other.
    void run_again(Nanos now);
    void resubmit(Packet* packet, std::uint32_t frame_start);
    void recirculate(Packet* packet);
    void restart(Packet* packet, std::uint32_t fields, std::uint32_t instance_type,
                 std::uint32_t ingress_length);
    void learn(const Packet& packet, Nanos now);
    void stop(Packet* packet, std::uint64_t& figure) {
        ++figure;
        wire_->pool().give(packet);
    }
    void drop(Packet* packet, std::uint64_t& figure, Nanos now) {
        wire_->dropped(*packet, now);
        stop(packet, figure);
    }
    void enqueue(Packet* packet, PortId to, Nanos now);
    // Egress pipeline and deparser; nullptr when the packet ended here.
    Packet* egress(Packet* packet, std::uint32_t depth, Nanos now);
    void deliver(Packet* packet);  // to the control plane
    void replicate(Packet* packet, const std::vector<Replica>& replicas, std::uint32_t instance_type,
                   std::uint32_t truncate, Nanos now);
    void clone_ingress(const Packet& original, std::uint32_t frame_start, Nanos now);
    void clone_egress(const Packet& original, Nanos now);
    void send_clone(Packet* clone, const CloneSession& session, const Packet& original,
                    std::uint32_t instance_type, Nanos now);
    void reset_metadata(Packet& packet) const;
    void flush(Port& port);
    void finish_queued(Nanos now);
    void finish_queue(Port& port, std::uint32_t priority, bool last, Nanos now);

    SwitchConfig config_;
    Wire* wire_;
    Nanos start_;
    std::unique_ptr<Program> program_;
    std::optional<Interpreter> interpreter_;
    std::vector<std::unique_ptr<Port>> ports_;          // by id
    std::vector<std::unique_ptr<Port>> removed_ports_;  // events may still name them
    ControlPlaneQueue to_control_;
    PacketQueue again_;
    bool busy_ = false;                     // within receive() or run_again()
    std::vector<std::uint64_t> preserved_;  // words of a field list
    SwitchFigures figures_;
    std::mt19937_64 random_;  // large, and seldom needed
};

}  // namespace csaud::sw
