#include "csaud_switch/program/interpreter.hpp"

#include <cstring>

#include "csaud_switch/program/packet_fields.hpp"
#include "csaud_switch/program/places.hpp"

namespace csaud::sw {

Interpreter::Interpreter(Program& program, PortId drop_port, std::mt19937_64& random, bool machine_code)
    : program_(program),
      logic_(*program.logic),
      actions_(program, drop_port, random),
      parser_(program, actions_),
      checksums_(logic_),
      writer_(logic_) {
    CompiledProgram::Hooks hooks{};
    hooks.resolve = [](Interpreter* self, Table* table, Packet* packet) {
        return self->resolve(*table, *packet);
    };
    hooks.execute = [](Interpreter* self, const Action* action, std::uint64_t at,
                       const std::uint64_t* parameters,
                       Packet* packet) { self->actions_.execute(*action, parameters, *packet, at, at + 1); };
    hooks.eval = [](Interpreter*, const Expression* expression, std::uint64_t,
                    const std::uint64_t* parameters,
                    Packet* packet) { return expression->eval(frame_of(*packet, parameters)); };
    hooks.hash = [](std::uint64_t algorithm, const std::uint8_t* bytes, std::size_t count) {
        return hash_bytes(static_cast<HashAlgorithm>(algorithm), bytes, count);
    };
    if (machine_code) {
        Logic::Compiled& compiled = logic_.compiled;
        std::call_once(compiled.made, [&] { compiled.code = CompiledProgram::make(program, hooks); });
        compiled_ = compiled.code.get();
        arrays_ = Places::list(program);
    }
}

void Interpreter::begin(Packet& packet) const {
    const std::size_t words = logic_.layout.slot_count;
    if (compiled_) {
        if (packet.slots.size() != words) packet.slots.resize(words);
        if (packet.headers.size() != logic_.headers.size()) packet.headers.resize(logic_.headers.size());
        compiled_->begin()(packet.slots.data(), packet.headers.data());
        return;
    }
    packet.slots.assign(words, 0);
    packet.headers.assign(logic_.headers.size(), HeaderState{});
    for (const Header& header : logic_.layout.headers)
        if (header.metadata) packet.slots[header.valid_slot] = 1;
}

void Interpreter::keep(Packet& packet, Workspaces& spare) const {
    if (compiled_ == nullptr || compiled_->keep() == nullptr) return;
    const std::size_t words = compiled_->kept_words();
    const std::size_t states = packet.headers.size() * sizeof(HeaderState);
    spare.give_kept_to(packet, words + (states + 7) / 8);
    compiled_->keep()(packet.slots.data(), packet.kept.data());
    std::memcpy(packet.kept.data() + words, packet.headers.data(), states);
    spare.take_from(packet);
}

void Interpreter::restore(Packet& packet, Workspaces& spare) const {
    if (packet.kept.empty()) return;
    spare.give_to(packet);
    packet.slots.resize(logic_.layout.slot_count);
    packet.headers.resize(logic_.headers.size());
    compiled_->restore()(packet.slots.data(), packet.kept.data());
    std::memcpy(static_cast<void*>(packet.headers.data()), packet.kept.data() + compiled_->kept_words(),
                packet.headers.size() * sizeof(HeaderState));
    spare.take_kept_from(packet);
}

std::vector<std::string> Interpreter::machine_code() const {
    std::vector<std::string> parts;
    if (compiled_ == nullptr) return parts;
    if (compiled_->parse() != nullptr) parts.emplace_back("parser");
    if (compiled_->ingress() != nullptr) parts.emplace_back("ingress");
    if (compiled_->egress() != nullptr) parts.emplace_back("egress");
    if (compiled_->deparse() != nullptr) parts.emplace_back("deparser");
    return parts;
}

void Interpreter::parse(Packet& packet) {
    if (const auto code = compiled_ ? compiled_->parse() : nullptr) {
        const std::uint64_t result =
            code(packet.slots.data(), packet.data(), packet.headers.data(), packet.length, packet.start);
        const auto place = static_cast<std::uint32_t>(result);
        packet.length -= place - packet.start;
        packet.start = place;
        set_field(packet, logic_.target.parser_error, result >> 32 & INT32_MAX);
        set_field(packet, logic_.target.checksum_error, result >> 63);
        return;
    }
    set_field(packet, logic_.target.parser_error, parser_.parse(packet));
    set_field(packet, logic_.target.checksum_error, checksums_.verify(packet) ? 0 : 1);
}

void Interpreter::run(const Pipeline& pipeline, CompiledProgram::Code code, Packet& packet) {
    if (code != nullptr) {
        code(packet.slots.data(), nullptr, &packet, this, packet.headers.data(), arrays_.data());
        packet.exit = false;
        return;
    }
    std::uint32_t at = pipeline.start;
    while (at != kEnd && !packet.exit) {
        const FlowNode& node = pipeline.nodes[at];
        switch (node.kind) {
            case FlowNode::Kind::kTable:
                at = apply(*program_.tables[node.index], packet);
                break;
            case FlowNode::Kind::kCondition:
                at = node.condition.eval(frame_of(packet)) != 0 ? node.next_true : node.next_false;
                break;
            case FlowNode::Kind::kCall:
                actions_.execute(logic_.actions[node.index], nullptr, packet);
                at = node.next_true;
                break;
        }
    }
    packet.exit = false;
}

std::uint32_t Interpreter::apply(Table& table, Packet& packet) {
    const CompiledProgram::Outcome outcome = resolve(table, packet);
    const auto action = static_cast<std::uint32_t>(outcome.action);
    if (action != kEnd) actions_.execute(logic_.actions[action], outcome.parameters, packet);
    if (table.by_hit) return outcome.action >> 32 != 0 ? table.next_hit : table.next_miss;
    return action != kEnd ? table.next_by_action[action] : table.base_next;
}

// What is to be done: an action of the entry itself, or of a member of its profile.
CompiledProgram::Outcome Interpreter::resolve(Table& table, Packet& packet) {
    Entry* entry = table.lookup(packet.slots.data());
    if (entry == nullptr) {
        DefaultEntry& otherwise = table.default_entry;
        otherwise.count.add(packet.ingress_length);
        return chosen(otherwise.binding, packet);
    }
    entry->count.add(packet.ingress_length);
    if (table.watched()) watch_hit(table, *entry, packet);
    CompiledProgram::Outcome outcome = chosen(entry->binding, packet);
    outcome.action |= std::uint64_t{1} << 32;
    return outcome;
}

CompiledProgram::Outcome Interpreter::chosen(const Binding& binding, const Packet& packet) {
    if (binding.kind == Binding::Kind::kAction) return {binding.action, binding.parameters.data()};
    const Member* member =
        binding.kind == Binding::Kind::kMember ? binding.member : binding.group->select(packet);
    if (member == nullptr) return {kEnd, nullptr};
    return {member->action, member->parameters.data()};
}

void Interpreter::watch_hit(const Table& table, Entry& entry, Packet& packet) {
    entry.watch->last_hit = now_;
    entry.watch->idle_told = false;
    if (!table.direct_meter) return;
    const bool bytes = program_.meters[*table.direct_meter].bytes;
    const unsigned color = entry.watch->meter.execute(bytes ? packet.ingress_length : 1, actions_.now_us());
    assign_wide(table.meter_target, color, packet);
}

void Interpreter::deparse(Packet& packet) {
    if (const auto code = compiled_ ? compiled_->deparse() : nullptr) {
        const std::uint32_t first =
            code(packet.slots.data(), packet.headers.data(), packet.buffer.get(), packet.start);
        if (first != UINT32_MAX) {
            packet.length += packet.start - first;
            packet.start = first;
            return;
        }
    } else {
        checksums_.update(packet);
    }
    writer_.write(packet);
}

}  // namespace csaud::sw
