// Does what an action says, primitive by primitive: to a packet, and to the program's registers, counters and
// meters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/program/action.hpp"
#include "csaud_switch/program/header_actions.hpp"
#include "csaud_switch/program/message_log.hpp"
#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

class ActionRunner {
  public:
    ActionRunner(Program& program, PortId drop_port, std::mt19937_64& random)
        : program_(program),
          logic_(*program.logic),
          headers_(logic_),
          drop_port_(drop_port),
          random_(random) {}

    // The present, for meters.
    void set_time(std::uint64_t since_start_us) { now_us_ = since_start_us; }
    std::uint64_t now_us() const { return now_us_; }

    void execute(const Action& action, const std::uint64_t* parameters, Packet& packet) {
        execute(action, parameters, packet, 0, action.primitives.size());
    }
    // The primitives from one to another.
    void execute(const Action& action, const std::uint64_t* parameters, Packet& packet, std::size_t from,
                 std::size_t to);

    std::vector<std::string> take_log() { return log_.take(); }

  private:
    void execute_rare(const Primitive& primitive, const Frame& frame, Packet& packet);
    void read_register(const Primitive& primitive, const Frame& frame, Packet& packet) const;
    void write_register(const Primitive& primitive, const Frame& frame);
    void draw(const Primitive& primitive, const Frame& frame, Packet& packet);

    Program& program_;
    const Logic& logic_;
    HeaderActions headers_;
    PortId drop_port_;
    std::mt19937_64& random_;
    std::uint64_t now_us_ = 0;
    MessageLog log_;
};

}  // namespace csaud::sw
