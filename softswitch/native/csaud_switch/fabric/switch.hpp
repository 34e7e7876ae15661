// One switch: a program between ports. Time comes in with each call; what leaves goes to the wire.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "csaud_switch/fabric/forwarding.hpp"
#include "csaud_switch/fabric/ports.hpp"
#include "csaud_switch/fabric/replication.hpp"
#include "csaud_switch/fabric/switch_config.hpp"
#include "csaud_switch/fabric/switch_figures.hpp"
#include "csaud_switch/fabric/wire.hpp"
#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

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
    void set_wire(Wire& wire) { forwarding_.set_wire(wire); }
    // What the program's clock counts from.
    void set_start(Nanos start) { forwarding_.set_start(start); }
    bool loaded() const { return program_ != nullptr; }
    Program& program() const;  // FailedPrecondition without one
    std::vector<std::string> take_log() { return forwarding_.take_log(); }
    std::vector<std::string> machine_code() const { return forwarding_.machine_code(); }

    // --- ports
    Port& add_port(PortId id) { return ports_.add(id); }
    void remove_port(Port& port);
    Port* find_port(PortId id) const { return ports_.find(id); }
    Port& port(PortId id) const { return ports_.at(id); }  // NotFound
    std::vector<Port*> ports() const { return ports_.all(); }
    void set_port_up(Port& port, bool up);  // tells the selectors
    bool port_is_up(PortId id) const { return ports_.is_up(id); }

    // --- packets
    // A frame has arrived. Takes the packet over; its slots and headers are set up here.
    void receive(Packet* packet, PortId port, Nanos now) { forwarding_.receive(packet, port, now); }
    // Send what the port may send by now.
    void serve(Port& port, Nanos now) { forwarding_.serve(port, now); }
    // For the wire: a packet that was handed over could not be sent after all, or was.
    void count_sent(Port& port, std::uint32_t bytes) {
        ++port.figures.tx_packets;
        port.figures.tx_bytes += bytes;
        ++forwarding_.figures().tx;
    }
    void count_lost(Port& port) {
        ++port.figures.link_down_drops;
        ++forwarding_.figures().link_down;
    }
    void count_tx_error(Port& port) {
        ++port.figures.tx_errors;
        ++forwarding_.figures().tx_errors;
    }
    void uncount_sent(Port& port, std::uint32_t bytes) {
        --port.figures.tx_packets;
        port.figures.tx_bytes -= bytes;
        --forwarding_.figures().tx;
    }

    // What waits for the control plane.
    std::vector<std::vector<std::uint8_t>> take_packet_ins() {
        return forwarding_.to_control().take_packets();
    }
    std::vector<DigestSample> take_digests() { return forwarding_.to_control().take_digests(); }

    // For the control plane to set.
    Replication replication;

    const SwitchFigures& figures() const { return forwarding_.figures(); }
    std::uint64_t queued() const;

  private:
    void flush();
    void run(std::unique_ptr<Program> program);
    PortIsUp is_up() const {
        return [this](PortId id) { return port_is_up(id); };
    }

    SwitchConfig config_;
    Ports ports_;
    std::unique_ptr<Program> program_;
    Forwarding forwarding_;
};

}  // namespace csaud::sw
