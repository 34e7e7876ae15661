// The parser as written: a packet goes from state to state of its graph.
#pragma once

#include <cstdint>

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/program/action_runner.hpp"
#include "csaud_switch/program/header_reader.hpp"
#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

class PacketParser {
  public:
    // actions: for the primitives among what states do.
    PacketParser(const Program& program, ActionRunner& actions)
        : program_(program), logic_(*program.logic), headers_(logic_), actions_(actions) {}

    // Moves the packet's start behind what was parsed. The error's code, as the program numbers them.
    std::uint32_t parse(Packet& packet);

  private:
    std::uint32_t walk(Packet& packet, std::uint32_t& parsed);
    bool step(const ParserOp& op, Packet& packet, std::uint32_t& parsed, std::uint32_t& error);
    bool extract_element(const ParserOp& op, Packet& packet, std::uint32_t& parsed,
                         std::uint32_t& error) const;
    std::uint32_t next_state(const ParserState& state, const Packet& packet, std::uint32_t parsed) const;

    const Program& program_;  // its value sets change
    const Logic& logic_;
    HeaderReader headers_;
    ActionRunner& actions_;
};

}  // namespace csaud::sw
