// A program that was filled elsewhere takes the place of the present one, between two packets.
//
// What both programs have keeps its state: counters, registers, the counts of entries, and which slots a
// group's members have, on which the choice of a path depends.
#include <algorithm>
#include <utility>

#include "csaud_switch/base/error.hpp"
#include "csaud_switch/fabric/switch.hpp"

namespace csaud::sw {

namespace {

template <typename Items, typename F>
void for_each_pair(const Items& from, Items& to, F&& carry) {
    for (auto& item : to) {
        const auto found = std::find_if(from.begin(), from.end(),
                                        [&item](const auto& other) { return other.name == item.name; });
        if (found != from.end()) carry(*found, item);
    }
}

void carry_entries(Table& from, Table& to) {
    to.default_entry.count = from.default_entry.count;
    for (const Entry* entry : to.entries()) {
        try {
            Entry& made = to.find(entry->match, entry->priority);
            const Entry& before = from.find(entry->match, entry->priority);
            made.count = before.count;
            if (made.watch && before.watch) *made.watch = *before.watch;
        } catch (const NotFound&) {  // it is new
        } catch (const InvalidArgument&) {
            return;  // the keys have changed
        }
    }
}

}  // namespace

void carry_state(Program& from, Program& to, const PortIsUp& is_up) {
    for_each_pair(from.counters, to.counters, [](const CounterArray& a, CounterArray& b) {
        std::copy_n(a.cells.begin(), std::min(a.cells.size(), b.cells.size()), b.cells.begin());
    });
    for_each_pair(from.registers, to.registers, [](const RegisterArray& a, RegisterArray& b) {
        if (a.width == b.width)
            std::copy_n(a.words.begin(), std::min(a.words.size(), b.words.size()), b.words.begin());
    });
    for_each_pair(from.meters, to.meters, [](const MeterArray& a, MeterArray& b) {
        if (a.bytes == b.bytes && a.cells.size() == b.cells.size()) b.cells = a.cells;
    });
    for (const auto& table : to.tables)
        for (const auto& before : from.tables)
            if (before->name == table->name && before->entry_count() > 0) carry_entries(*before, *table);
    for (const auto& profile : to.profiles)
        for (const auto& before : from.profiles)
            if (before->name == profile->name) profile->keep_slots(*before, is_up);
}

void Switch::adopt(Switch& filled, bool keep_state, Nanos now) {
    if (&filled == this) throw InvalidArgument("a switch cannot adopt its own program");
    static_cast<void>(filled.program());  // FailedPrecondition without one
    for (const auto& port : filled.ports_)
        if (port) filled.flush(*port);
    to_control_.forget_digests();
    if (program_) {
        finish_queued(now);
        if (keep_state)
            carry_state(*program_, *filled.program_, [this](PortId id) { return port_is_up(id); });
    }
    interpreter_.reset();
    filled.interpreter_.reset();
    program_ = std::move(filled.program_);
    interpreter_.emplace(*program_, config_.drop_port, random_, config_.machine_code);
    clone_sessions = std::exchange(filled.clone_sessions, {});
    multicast_groups = std::exchange(filled.multicast_groups, {});
    for (const auto& port : ports_)
        if (port && port->up)
            for (const auto& profile : program_->profiles)
                profile->port_changed(port->id, [this](PortId id) { return port_is_up(id); });
    for (const auto& port : ports_)
        if (port && port->waiting != 0 && !port->wake_scheduled) serve(*port, now);
}

// What is queued carries fields of the present program, so it goes through the present egress now; it keeps
// its place.
void Switch::finish_queued(Nanos now) {
    for (const auto& port : ports_)
        if (port) port->serving = true;  // clones that egress makes wait as well
    constexpr int kRounds = 8;           // clones of clones, and packets that come around again
    for (int round = 0; round < kRounds; ++round) {
        const bool last = round + 1 == kRounds;
        for (const auto& port : ports_)
            if (port)
                for (std::uint32_t priority = 0; priority < config_.priority_queues; ++priority)
                    finish_queue(*port, priority, last, now);
        if (!last) run_again(now);
    }
    for (; again_.count > 0; ++figures_.flushed) wire_->pool().give(again_.pop());
    for (const auto& port : ports_)
        if (port) port->serving = false;
}

void Switch::finish_queue(Port& port, std::uint32_t priority, bool last, Nanos now) {
    PacketQueue& queue = port.queues[priority];
    for (std::uint32_t left = queue.count; left > 0; --left) {
        Packet* packet = queue.pop();
        if (!packet->finished && last) {
            ++figures_.flushed;
            wire_->pool().give(packet);
            packet = nullptr;
        } else if (!packet->finished) {
            packet = egress(packet, queue.count, now);
        }
        if (packet == nullptr) {
            --port.queued;
            continue;
        }
        packet->finished = true;
        queue.push(packet);
    }
    if (queue.count == 0) port.waiting &= ~(std::uint64_t{1} << priority);
}

}  // namespace csaud::sw
