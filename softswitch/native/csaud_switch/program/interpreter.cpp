#include "csaud_switch/program/interpreter.hpp"

#include <algorithm>

namespace csaud::sw {

namespace {

constexpr std::size_t kLogLines = 1000;

std::string format_message(const LogMessage& message, const Frame& frame) {
    std::string out;
    std::size_t next = 0;
    const std::string& text = message.text;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '{' || text[i + 1] == '}')) {
            out += text[++i];
        } else if (text[i] == '{' && text.find('}', i) != std::string::npos) {
            if (next < message.values.size()) out += std::to_string(message.values[next++].eval(frame));
            i = text.find('}', i);
        } else {
            out += text[i];
        }
    }
    return out;
}

}  // namespace

Interpreter::Interpreter(Program& program, PortId drop_port, std::mt19937_64& random, bool machine_code)
    : program_(program),
      logic_(*program.logic),
      headers_(logic_),
      writer_(logic_),
      drop_port_(drop_port),
      random_(random) {
    CompiledProgram::Hooks hooks{};
    hooks.resolve = [](Interpreter* self, Table* table, Packet* packet) {
        return self->resolve(*table, *packet);
    };
    hooks.execute = [](Interpreter* self, const Action* action, std::uint64_t at,
                       const std::uint64_t* parameters,
                       Packet* packet) { self->execute(*action, parameters, *packet, at, at + 1); };
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
        arrays_ = CompiledProgram::arrays_of(program);
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
                execute(logic_.actions[node.index], nullptr, packet);
                at = node.next_true;
                break;
        }
    }
    packet.exit = false;
}

std::uint32_t Interpreter::apply(Table& table, Packet& packet) {
    const CompiledProgram::Outcome outcome = resolve(table, packet);
    const auto action = static_cast<std::uint32_t>(outcome.action);
    if (action != kEnd) execute(logic_.actions[action], outcome.parameters, packet);
    if (table.by_hit) return outcome.action >> 32 != 0 ? table.next_hit : table.next_miss;
    return action != kEnd ? table.next_by_action[action] : table.base_next;
}

// What is to be done: an action of the entry itself, or of a member of its profile.
CompiledProgram::Outcome Interpreter::resolve(Table& table, Packet& packet) {
    Entry* entry = table.lookup(packet.slots.data());
    if (entry == nullptr) {
        DefaultEntry& otherwise = table.default_entry;
        otherwise.count.add(packet.ingress_length);
        if (!otherwise.set) return {kEnd, nullptr};
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
    const unsigned color = entry.watch->meter.execute(bytes ? packet.ingress_length : 1, now_us_);
    assign_wide(table.meter_target, color, packet);
}

void Interpreter::execute(const Action& action, const std::uint64_t* parameters, Packet& packet,
                          std::size_t from, std::size_t to) {
    const Frame frame = frame_of(packet, parameters);
    for (std::size_t at = from; at < to; ++at) {
        const Primitive& p = action.primitives[at];
        switch (p.op) {
            case PrimitiveOp::kAssignConstant:
                assign(p, p.a.constant(), packet);
                break;
            case PrimitiveOp::kAssignSlot:
                assign(p, packet.slots[p.a.slot()], packet);
                break;
            case PrimitiveOp::kAssign:
                assign(p, p.a.eval(frame), packet);
                break;
            case PrimitiveOp::kHash: {
                const std::uint64_t size = std::max<std::uint64_t>(p.b.eval(frame), 1);
                assign(p, logic_.calculations[p.index].compute(packet) % size + p.a.eval(frame), packet);
                break;
            }
            case PrimitiveOp::kRegisterRead: {
                const RegisterArray& array = program_.registers[p.index];
                const std::uint64_t cell = p.a.eval(frame);
                if (cell >= array.size) break;  // the target's field keeps its value, as on the reference
                if (array.width <= 64 && p.target.width <= 64) {
                    assign(p, array.words[cell], packet);
                } else {
                    const std::uint64_t* words = &array.words[cell * words_for(array.width)];
                    const UWide high = array.width > 64 ? UWide{words[1]} << 64 : 0;
                    assign_wide(p.target, static_cast<Wide>(high | words[0]), packet);
                }
                break;
            }
            case PrimitiveOp::kRegisterWrite: {
                RegisterArray& array = program_.registers[p.index];
                const std::uint64_t cell = p.a.eval(frame);
                if (cell >= array.size) break;
                if (array.width <= 64) {
                    array.words[cell] = p.b.eval(frame) & mask64(array.width);
                } else {
                    const auto value = static_cast<UWide>(p.b.eval_wide(frame)) & mask128(array.width);
                    array.words[2 * cell] = static_cast<std::uint64_t>(value);
                    array.words[2 * cell + 1] = static_cast<std::uint64_t>(value >> 64);
                }
                break;
            }
            case PrimitiveOp::kCount: {
                std::vector<Count>& cells = program_.counters[p.index].cells;
                const std::uint64_t cell = p.a.eval(frame);
                if (cell < cells.size()) cells[cell].add(packet.ingress_length);
                break;
            }
            case PrimitiveOp::kJump:
                at = p.a.eval(frame) - 1;  // the loop adds one
                break;
            case PrimitiveOp::kJumpIfZero:
                if (p.a.eval(frame) == 0) at = p.b.eval(frame) - 1;
                break;
            case PrimitiveOp::kExit:
                packet.exit = true;
                break;
            default:
                execute_rare(p, frame, packet);
        }
    }
}

void Interpreter::execute_rare(const Primitive& p, const Frame& frame, Packet& packet) {
    switch (p.op) {
        case PrimitiveOp::kAssignWide:
            assign_wide(p.target, p.a.eval_wide(frame), packet);
            break;
        case PrimitiveOp::kAssignHeader:
            headers_.copy(p.index, p.other, packet);
            break;
        case PrimitiveOp::kAddHeader:
            headers_.add(p.index, packet);
            break;
        case PrimitiveOp::kRemoveHeader:
            headers_.remove(p.index, packet);
            break;
        case PrimitiveOp::kMarkToDrop:
            assign_wide(p.target, drop_port_, packet);
            std::fill_n(packet.slots.begin() + p.index, p.other, 0);
            break;
        case PrimitiveOp::kRandom: {
            const std::uint64_t low = p.a.eval(frame);
            const std::uint64_t high = p.b.eval(frame);
            if (low > high) break;
            const std::uint64_t span = high - low;
            const std::uint64_t draw = random_();
            assign(p,
                   span == UINT64_MAX ? draw
                                      : low + static_cast<std::uint64_t>((UWide{draw} * (span + 1)) >> 64),
                   packet);
            break;
        }
        case PrimitiveOp::kTruncate:
            packet.truncate_to =
                static_cast<std::uint32_t>(std::min<std::uint64_t>(p.a.eval(frame), packet.truncate_to));
            break;
        case PrimitiveOp::kAssert:
            if (p.a.eval(frame) != 0) break;
            packet.asserted = true;
            packet.exit = true;
            log("assertion failed: " + p.message->text);
            break;
        case PrimitiveOp::kLog:
            log(format_message(*p.message, frame));
            break;
        case PrimitiveOp::kClone:
            packet.clone_request = static_cast<std::uint32_t>(p.a.eval(frame) & 0x7FFF) + 1;
            packet.clone_fields = p.index;
            break;
        case PrimitiveOp::kResubmit:
            packet.resubmit = p.index + 1;
            break;
        case PrimitiveOp::kRecirculate:
            packet.recirculate = p.index + 1;
            break;
        case PrimitiveOp::kDigest:
            packet.digest = p.index + 1;
            break;
        case PrimitiveOp::kMeter: {
            MeterArray& meter = program_.meters[p.index];
            const std::uint64_t cell = p.a.eval(frame);
            if (cell >= meter.cells.size()) break;
            assign_wide(p.target, meter.cells[cell].execute(meter.bytes ? packet.ingress_length : 1, now_us_),
                        packet);
            break;
        }
        default:
            execute_stack(p, frame, packet);
    }
}

void Interpreter::assign_wide(const FieldRef& target, Wide value, Packet& packet) const {
    const auto cut = static_cast<UWide>(value) & mask128(target.width);
    packet.slots[target.slot] = static_cast<std::uint64_t>(cut);
    if (target.width > 64) packet.slots[target.slot + 1] = static_cast<std::uint64_t>(cut >> 64);
    packet.headers[target.header].dirty = true;
}

void Interpreter::log(std::string message) {
    if (log_.size() >= kLogLines) log_.erase(log_.begin());
    log_.push_back(std::move(message));
}

std::vector<std::string> Interpreter::take_log() {
    std::vector<std::string> taken;
    taken.swap(log_);
    return taken;
}

}  // namespace csaud::sw
