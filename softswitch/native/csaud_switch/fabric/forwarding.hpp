// A packet's way through one switch: ingress, the queue of its port, egress, the wire.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "csaud_switch/fabric/control_plane_queue.hpp"
#include "csaud_switch/fabric/passes.hpp"
#include "csaud_switch/fabric/ports.hpp"
#include "csaud_switch/fabric/replication.hpp"
#include "csaud_switch/fabric/switch_config.hpp"
#include "csaud_switch/fabric/switch_figures.hpp"
#include "csaud_switch/fabric/wire.hpp"
#include "csaud_switch/program/interpreter.hpp"

namespace csaud::sw {

class Forwarding {
  public:
    // What it is given stays where it is; self: whose way it is, for the wire alone.
    Forwarding(Switch& self, const SwitchConfig& config, const Ports& ports, const Replication& replication,
               Wire& wire, Nanos start);
    Forwarding(const Forwarding&) = delete;
    Forwarding& operator=(const Forwarding&) = delete;

    // What leaves goes to another wire from now on; nothing is under way.
    void set_wire(Wire& wire) { wire_ = &wire; }
    // What the program's clock counts from.
    void set_start(Nanos start) { start_ = start; }
    // Packets see this program from now on; without one they are dropped.
    void run(Program* program);

    // A frame has arrived. Takes the packet over; its slots and headers are set up here.
    void receive(Packet* packet, PortId port, Nanos now);
    // Send what the port may send by now.
    void serve(Port& port, Nanos now);
    // Egress pipeline and deparser; nullptr when the packet ended here.
    Packet* egress(Packet* packet, std::uint32_t depth, Nanos now);
    // Packets that enter ingress once more do so when the present one is done, before any other.
    void run_again(Nanos now);
    // They, those in a port's queues, or a single one, end here.
    void flush_again();
    void flush(Port& port);
    void flush(Packet* packet) { stop(packet, figures_.flushed); }

    ControlPlaneQueue& to_control() { return to_control_; }
    SwitchFigures& figures() { return figures_; }
    const SwitchFigures& figures() const { return figures_; }
    std::vector<std::string> take_log();
    std::vector<std::string> machine_code() const {
        return interpreter_ ? interpreter_->machine_code() : std::vector<std::string>{};
    }

  private:
    std::uint64_t microseconds(Nanos now) const { return static_cast<std::uint64_t>((now - start_) / 1000); }
    const TargetFields& target() const { return interpreter_->logic().target; }
    void ingress(Packet* packet, Nanos now);
    void learn(const Packet& packet, Nanos now);
    void multicast(Packet* packet, std::uint32_t group, Nanos now);
    void clone_ingress(const Packet& original, std::uint32_t frame_start, Nanos now);
    void clone_egress(const Packet& original, Nanos now);
    void send_clone(Packet* clone, const CloneSession& session, const Packet& original,
                    std::uint32_t instance_type, Nanos now);
    void replicate(const Packet& packet, const std::vector<Replica>& replicas, std::uint32_t instance_type,
                   std::uint32_t truncate, Nanos now);
    void enqueue(Packet* packet, PortId to, Nanos now);
    void leave_without_port(Packet* packet, PortId to, Nanos now);
    void deliver(Packet* packet);  // to the control plane
    void stop(Packet* packet, std::uint64_t& figure) {
        ++figure;
        wire_->pool().give(packet);
    }
    void drop(Packet* packet, std::uint64_t& figure, Nanos now) {
        wire_->dropped(*packet, now);
        stop(packet, figure);
    }

    Switch& self_;
    const SwitchConfig& config_;
    const Ports& ports_;
    const Replication& replication_;
    Wire* wire_;
    Nanos start_;
    std::optional<Interpreter> interpreter_;
    ControlPlaneQueue to_control_;
    Passes passes_;
    bool busy_ = false;  // within receive() or run_again()
    SwitchFigures figures_;
    std::mt19937_64 random_;  // large, and seldom needed
};

}  // namespace csaud::sw
