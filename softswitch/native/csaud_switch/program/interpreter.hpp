// Runs a program on one packet: parse, ingress, egress, deparse. No clock and no queue in here.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "csaud_switch/fabric/packet.hpp"
#include "csaud_switch/program/compile.hpp"
#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

class Interpreter {
  public:
    // The program stays where it is; its controls become machine code where that is possible.
    Interpreter(Program& program, PortId drop_port, std::mt19937_64& random);
    Interpreter(const Interpreter&) = delete;
    Interpreter& operator=(const Interpreter&) = delete;

    // The present, for meters and idle timeouts.
    void set_time(Nanos now, std::uint64_t since_start_us) {
        now_ = now;
        now_us_ = since_start_us;
    }
    // Fields all zero, headers all invalid.
    void begin(Packet& packet) const;
    // Sets parser_error and checksum_error; moves the packet's start behind what was parsed.
    void parse(Packet& packet);
    void ingress(Packet& packet) {
        run(program_.ingress, compiled_ ? compiled_->ingress() : nullptr, packet);
    }
    void egress(Packet& packet) { run(program_.egress, compiled_ ? compiled_->egress() : nullptr, packet); }
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
    void run(const Pipeline& pipeline, CompiledProgram::Code code, Packet& packet);
    std::uint32_t apply(Table& table, Packet& packet);
    void watch_hit(const Table& table, Entry& entry, Packet& packet);
    void call(std::uint32_t action, const std::uint64_t* parameters, Packet& packet);
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
    void copy_header(std::uint32_t to, std::uint32_t from, Packet& packet) const;
    void add_header(std::uint32_t header, Packet& packet) const;

    std::uint32_t walk(Packet& packet, std::uint32_t& parsed);
    bool step(const ParserOp& op, Packet& packet, std::uint32_t& parsed, std::uint32_t& error);
    std::uint32_t next_state(const ParserState& state, const Packet& packet, std::uint32_t parsed) const;
    bool verify_checksums(Packet& packet);
    void update_checksums(Packet& packet);
    bool holds(std::uint32_t checksum, Packet& packet);  // its condition
    void deposit(std::uint32_t header, Packet& packet, std::uint8_t* to) const;
    void log(std::string message);

    Program& program_;
    PortId drop_port_;
    std::mt19937_64& random_;
    Nanos now_ = 0;
    std::uint64_t now_us_ = 0;
    std::vector<std::string> log_;
    std::unique_ptr<CompiledProgram> compiled_;
    std::vector<std::uint32_t> metadata_;  // validity slots of metadata headers
};

}  // namespace csaud::sw
