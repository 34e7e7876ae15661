// Runs a program on one packet: parse, ingress, egress, deparse. No clock and no queue in here.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/program/compile.hpp"
#include "csaud_switch/program/header_ops.hpp"
#include "csaud_switch/program/header_writer.hpp"
#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

class Interpreter {
  public:
    // The program stays where it is; its controls become machine code where that is possible.
    // machine_code: as far as it can be made here.
    Interpreter(Program& program, PortId drop_port, std::mt19937_64& random, bool machine_code);
    Interpreter(const Interpreter&) = delete;
    Interpreter& operator=(const Interpreter&) = delete;

    // The present, for meters and idle timeouts.
    void set_time(Nanos now, std::uint64_t since_start_us) {
        now_ = now;
        now_us_ = since_start_us;
    }
    // Fields all zero, headers all invalid: as far as the program can tell where it is machine code.
    void begin(Packet& packet) const;
    // Sets parser_error and checksum_error; moves the packet's start behind what was parsed.
    void parse(Packet& packet);
    void ingress(Packet& packet) { run(logic_.ingress, compiled_ ? compiled_->ingress() : nullptr, packet); }
    void egress(Packet& packet) { run(logic_.egress, compiled_ ? compiled_->egress() : nullptr, packet); }
    // Checksums are updated, headers are put before the payload.
    void deparse(Packet& packet);

    static void set(Packet& packet, const std::optional<FieldRef>& field, std::uint64_t value) {
        if (field) packet.slots[field->slot] = value & mask64(field->width);
    }
    static std::uint64_t get(const Packet& packet, const std::optional<FieldRef>& field) {
        return field ? packet.slots[field->slot] : 0;
    }

    // Messages of log_msg and of failed assertions, the oldest dropped beyond a thousand.
    std::vector<std::string> take_log();

  private:
    static Frame frame_of(const Packet& packet, const std::uint64_t* parameters = nullptr) {
        return {packet.slots.data(), parameters, packet.buffer.get()};
    }
    void run(const Pipeline& pipeline, CompiledProgram::Code code, Packet& packet);
    std::uint32_t apply(Table& table, Packet& packet);
    CompiledProgram::Outcome resolve(Table& table, Packet& packet);
    static CompiledProgram::Outcome chosen(const Binding& binding, const Packet& packet);
    void watch_hit(const Table& table, Entry& entry, Packet& packet);
    void execute(const Action& action, const std::uint64_t* parameters, Packet& packet) {
        execute(action, parameters, packet, 0, action.primitives.size());
    }
    // The primitives from one to another.
    void execute(const Action& action, const std::uint64_t* parameters, Packet& packet, std::size_t from,
                 std::size_t to);
    void execute_rare(const Primitive& primitive, const Frame& frame, Packet& packet);
    void assign(const Primitive& primitive, std::uint64_t value, Packet& packet) const {
        packet.slots[primitive.target.slot] = value & primitive.mask;
        packet.headers[primitive.target.header].dirty = true;
    }
    void assign_wide(const FieldRef& target, Wide value, Packet& packet) const;

    // --- stacks.cpp: stacks and unions
    void execute_stack(const Primitive& primitive, const Frame& frame, Packet& packet);
    void assign_element(const Primitive& primitive, const Frame& frame, Packet& packet) const;

    // --- varbit.cpp: headers with a field of variable length
    bool extract_varbit(const ParserOp& op, std::uint32_t header, Packet& packet, std::uint32_t& parsed,
                        std::uint32_t& error) const;

    std::uint32_t walk(Packet& packet, std::uint32_t& parsed);
    bool extract(const ParserOp& op, std::uint32_t header, Packet& packet, std::uint32_t& parsed,
                 std::uint32_t& error) const;
    bool step(const ParserOp& op, Packet& packet, std::uint32_t& parsed, std::uint32_t& error);
    std::uint32_t next_state(const ParserState& state, const Packet& packet, std::uint32_t parsed) const;
    bool verify_checksums(Packet& packet);
    void update_checksums(Packet& packet);
    static bool holds(const Checksum& checksum, const Packet& packet);  // its condition
    void log(std::string message);

    Program& program_;
    const Logic& logic_;
    HeaderOps headers_;
    HeaderWriter writer_;
    PortId drop_port_;
    std::mt19937_64& random_;
    Nanos now_ = 0;
    std::uint64_t now_us_ = 0;
    std::vector<std::string> log_;
    const CompiledProgram* compiled_ = nullptr;  // of the logic
    std::vector<void*> arrays_;                  // of the program, for its code
};

}  // namespace csaud::sw
