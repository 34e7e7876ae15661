// Runs a program on one packet: parse, ingress, egress, deparse. No clock and no queue in here.
//
// What has machine code runs as such. The controls' way from table to table is here; what parsers, actions
// and checksums mean is in the parts.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/program/action_runner.hpp"
#include "csaud_switch/program/checksum_ops.hpp"
#include "csaud_switch/program/compile.hpp"
#include "csaud_switch/program/header_writer.hpp"
#include "csaud_switch/program/packet_parser.hpp"
#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

class Interpreter {
  public:
    // The program stays where it is; its controls become machine code where that is possible.
    // machine_code: as far as it can be made here.
    Interpreter(Program& program, PortId drop_port, std::mt19937_64& random, bool machine_code);
    Interpreter(const Interpreter&) = delete;
    Interpreter& operator=(const Interpreter&) = delete;

    Program& program() const { return program_; }
    const Logic& logic() const { return logic_; }
    // Bytes that must lie free before a frame that is parsed.
    std::uint32_t headroom() const { return logic_.layout.header_bytes + kHeadroom - kMaxHeaderBytes; }

    // The present, for meters and idle timeouts.
    void set_time(Nanos now, std::uint64_t since_start_us) {
        now_ = now;
        actions_.set_time(since_start_us);
    }
    // Fields all zero, headers all invalid: as far as the program can tell where it is machine code.
    void begin(Packet& packet) const;
    // A packet that waits for egress gives its slots and headers to others, but for what it needs of them,
    // and gets some again.
    void keep(Packet& packet, Workspaces& spare) const;
    void restore(Packet& packet, Workspaces& spare) const;
    // Sets parser_error and checksum_error; moves the packet's start behind what was parsed.
    void parse(Packet& packet);
    void ingress(Packet& packet) { run(logic_.ingress, compiled_ ? compiled_->ingress() : nullptr, packet); }
    void egress(Packet& packet) { run(logic_.egress, compiled_ ? compiled_->egress() : nullptr, packet); }
    // Checksums are updated, headers are put before the payload.
    void deparse(Packet& packet);

    std::vector<std::string> take_log() { return actions_.take_log(); }
    // Those of parser, ingress, egress and deparser that are machine code.
    std::vector<std::string> machine_code() const;

  private:
    void run(const Pipeline& pipeline, CompiledProgram::Code code, Packet& packet);
    std::uint32_t apply(Table& table, Packet& packet);
    CompiledProgram::Outcome resolve(Table& table, Packet& packet);
    static CompiledProgram::Outcome chosen(const Binding& binding, const Packet& packet);
    void watch_hit(const Table& table, Entry& entry, Packet& packet);

    Program& program_;
    const Logic& logic_;
    ActionRunner actions_;
    PacketParser parser_;
    ChecksumOps checksums_;
    HeaderWriter writer_;
    Nanos now_ = 0;
    const CompiledProgram* compiled_ = nullptr;  // of the logic
    std::vector<void*> arrays_;                  // of the program, for its code
};

}  // namespace csaud::sw
