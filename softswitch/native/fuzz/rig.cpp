#include "rig.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "expect.hpp"

namespace csaud::sw::fuzz {
namespace {

constexpr PortId kPorts = 4;
constexpr std::size_t kMembers = 3;
constexpr std::size_t kMostEntries = 6;
constexpr std::size_t kMostPackets = 8;
constexpr std::size_t kLongest = 300;            // bytes of a frame
constexpr int kEnough = 200'000;                 // events at a time: more is a loop without end
constexpr std::uint64_t kRate = 10'000'000'000;  // bit/s

// What the control plane refuses is said by an exception; anything but these is a fault.
template <class Call>
void allowed_to_refuse(const Call& call) {
    try {
        call();
    } catch (const std::runtime_error&) {
        // refused, with a message
    }
}

Bytes bytes_of(FuzzedDataProvider& input, std::size_t most) {
    return input.ConsumeBytes<std::uint8_t>(input.ConsumeIntegralInRange<std::size_t>(0, most));
}

MatchField match_of(FuzzedDataProvider& input, const KeyField& key) {
    if (input.ConsumeIntegralInRange<int>(0, 3) == 0) return {};
    MatchField field;
    switch (key.kind) {
        case MatchKind::kExact:
            field.kind = MatchField::Kind::kExact;
            break;
        case MatchKind::kLpm:
            field.kind = MatchField::Kind::kLpm;
            field.prefix = input.ConsumeIntegralInRange<int>(-1, 129);
            break;
        case MatchKind::kTernary:
            field.kind = MatchField::Kind::kTernary;
            break;
        case MatchKind::kRange:
            field.kind = MatchField::Kind::kRange;
            break;
        case MatchKind::kOptional:
            field.kind = MatchField::Kind::kOptional;
            break;
    }
    field.value = bytes_of(input, 4);
    if (key.kind == MatchKind::kTernary || key.kind == MatchKind::kRange) field.other = bytes_of(input, 4);
    return field;
}

// IPv4, UDP and BTH as a parser of RoCE wants them, and anything behind and in them.
std::vector<std::uint8_t> frame_of(FuzzedDataProvider& input) {
    if (input.ConsumeIntegralInRange<int>(0, 3) == 0) return bytes_of(input, kLongest);
    std::vector<std::uint8_t> frame(
        {0x02, 0, 0x0a, 0, 1, 1, 0x02, 0, 0x0a, 0, 1, 2, 0x08, 0x00, 0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17});
    frame.resize(94);
    const std::array<std::uint8_t, 8> addresses{10, 0, 1, 1, 10, 0, 2, 1};
    std::ranges::copy(addresses, frame.begin() + 26);
    const std::uint16_t port = input.ConsumeBool() ? 4791 : 49791;
    frame[36] = static_cast<std::uint8_t>(port >> 8);
    frame[37] = static_cast<std::uint8_t>(port);
    frame[42] = 0x64;  // UD SEND ONLY
    frame[62] = 0xC5;
    frame[63] = 0xA1;
    frame[64] = input.ConsumeIntegralInRange<std::uint8_t>(0, 12);
    for (const std::uint8_t byte : bytes_of(input, kLongest - frame.size())) frame.push_back(byte);
    for (int flips = input.ConsumeIntegralInRange<int>(0, 6); flips > 0; --flips)
        frame[input.ConsumeIntegralInRange<std::size_t>(0, frame.size() - 1)] ^=
            input.ConsumeIntegral<std::uint8_t>();
    const std::size_t ip = frame.size() - 14;
    if (input.ConsumeBool()) {
        frame[16] = static_cast<std::uint8_t>(ip >> 8);
        frame[17] = static_cast<std::uint8_t>(ip);
        frame[38] = static_cast<std::uint8_t>((ip - 20) >> 8);
        frame[39] = static_cast<std::uint8_t>(ip - 20);
    }
    if (input.ConsumeBool()) {
        frame[24] = frame[25] = 0;
        std::uint32_t sum = 0;
        for (std::size_t i = 14; i < 34; i += 2)
            sum += static_cast<std::uint32_t>(frame[i] << 8 | frame[i + 1]);
        while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
        frame[24] = static_cast<std::uint8_t>(~sum >> 8);
        frame[25] = static_cast<std::uint8_t>(~sum);
    }
    if (input.ConsumeIntegralInRange<int>(0, 7) == 0)
        frame.resize(input.ConsumeIntegralInRange<std::size_t>(0, frame.size()));
    return frame;
}

}  // namespace

Rig::Rig() : fabric_(1), switch_(fabric_.add_switch({.name = "s", .device_id = 1}, false)) {
    for (PortId port = 1; port <= kPorts; ++port)
        fabric_.add_memory_port(switch_, port, {.rate_bps = kRate, .buffer_packets = 4});
    switch_.replication.clone_sessions[1] = {.replicas = {{.port = 2, .rid = 1}}, .truncate = 60};
    switch_.replication.multicast_groups[1] = {{.port = 1, .rid = 1}, {.port = 3, .rid = 2}};
}

void Rig::clear() {
    Control control(switch_, fabric_.now());
    Program& program = switch_.program();
    for (const auto& table : program.tables) {
        allowed_to_refuse([&] { control.table_clear(table->name); });
        allowed_to_refuse([&] { control.table_set_default(table->name, std::nullopt); });
    }
    for (const auto& profile : program.profiles) {
        for (const GroupSpec& group : control.groups(profile->name))
            control.group_delete(profile->name, group.id);
        for (const ActionSpec& member : control.members(profile->name))
            control.member_delete(profile->name, member.id);
    }
    for (RegisterArray& array : program.registers) std::ranges::fill(array.words, 0);
}

ActionSpec Rig::action(FuzzedDataProvider& input, const std::vector<std::uint32_t>& among) {
    ActionSpec spec;
    if (among.empty()) return spec;
    const std::size_t chosen = input.ConsumeIntegralInRange<std::size_t>(0, among.size() - 1);
    const Action& action = switch_.program().logic->actions[among[chosen]];
    spec.name = action.name;
    for (std::size_t i = 0; i < action.parameters.size(); ++i) {
        Bytes value = bytes_of(input, 4);
        if (value.empty()) value.push_back(input.ConsumeIntegralInRange<std::uint8_t>(0, kPorts));
        spec.parameters.push_back(value);
    }
    return spec;
}

void Rig::profile(FuzzedDataProvider& input, const ActionProfile& profile) {
    Control control(switch_, fabric_.now());
    std::vector<std::uint32_t> actions;
    for (const auto& table : switch_.program().tables)
        if (table->profile && switch_.program().profiles[*table->profile].get() == &profile)
            actions.insert(actions.end(), table->actions.begin(), table->actions.end());
    GroupSpec group{.id = 1, .members = {}, .max_size = 0};
    for (std::uint32_t id = 1; id <= kMembers; ++id) {
        allowed_to_refuse([&] { control.member_insert(profile.name, id, action(input, actions)); });
        std::optional<PortId> watch;
        if (input.ConsumeBool()) watch = static_cast<PortId>(id);
        group.members.push_back(
            {.member = id, .weight = input.ConsumeIntegralInRange<std::uint32_t>(0, 3), .watch_port = watch});
    }
    allowed_to_refuse([&] { control.group_insert(profile.name, group); });
}

void Rig::entry(FuzzedDataProvider& input, const Table& table) {
    EntrySpec entry;
    for (const KeyField& key : table.keys) entry.match.push_back(match_of(input, key));
    entry.priority = input.ConsumeIntegralInRange<int>(-1, 3);
    if (table.profile) {
        entry.action.kind = input.ConsumeBool() ? Binding::Kind::kGroup : Binding::Kind::kMember;
        entry.action.id = input.ConsumeIntegralInRange<std::uint32_t>(0, kMembers);
    } else {
        entry.action = action(input, table.actions);
    }
    Control control(switch_, fabric_.now());
    if (input.ConsumeBool()) {
        allowed_to_refuse([&] { control.table_insert(table.name, entry); });
    } else {
        allowed_to_refuse([&] { control.table_set_default(table.name, entry.action); });
    }
}

void Rig::fill(FuzzedDataProvider& input) {
    Program& program = switch_.program();
    for (const auto& of : program.profiles) profile(input, *of);
    if (program.tables.empty()) return;
    for (std::size_t i = input.ConsumeIntegralInRange<std::size_t>(0, kMostEntries); i > 0; --i)
        entry(input,
              *program.tables[input.ConsumeIntegralInRange<std::size_t>(0, program.tables.size() - 1)]);
}

void Rig::run(FuzzedDataProvider& input) {
    for (std::size_t i = 0; i < kMostPackets && input.remaining_bytes() > 0; ++i) {
        const std::vector<std::uint8_t> frame = frame_of(input);
        const auto port = input.ConsumeIntegralInRange<PortId>(0, kPorts);
        if (port == 0) {
            allowed_to_refuse([&] { fabric_.packet_out(switch_, frame); });
        } else {
            fabric_.inject(switch_, port, frame, fabric_.now());
        }
        if (input.ConsumeBool()) settle();
        if (input.ConsumeIntegralInRange<int>(0, 7) == 0)
            fabric_.set_link(switch_, input.ConsumeIntegralInRange<PortId>(1, kPorts), input.ConsumeBool());
    }
    settle();
    for (PortId port = 1; port <= kPorts; ++port) fabric_.set_link(switch_, port, true);
    settle();
    switch_.take_packet_ins();
    switch_.take_digests();
    switch_.take_log();
    balance();
}

void Rig::settle() {
    for (int events = 0; fabric_.next_event() != kNever; ++events) {
        CSAUD_EXPECT(events < kEnough);
        fabric_.advance(fabric_.next_event());
    }
    for (const OutFrame& frame : fabric_.take_frames()) CSAUD_EXPECT(frame.port >= 1 && frame.port <= kPorts);
}

void Rig::balance() const {
    const SwitchFigures& f = switch_.figures();
    CSAUD_EXPECT(f.rx + f.copies == f.dropped_ingress + f.dropped_egress + f.no_such_port + f.bad_priority +
                                        f.queue_full + f.link_down + f.packet_in + f.packet_in_overflow +
                                        f.tx + f.tx_errors + f.flushed + f.looped + switch_.queued());
}

}  // namespace csaud::sw::fuzz
