#include "csaud_switch/fabric/switch.hpp"

#include <utility>

#include "csaud_switch/base/error.hpp"
#include "csaud_switch/fabric/finish_queued.hpp"
#include "csaud_switch/program/carry_state.hpp"

namespace csaud::sw {

Switch::Switch(SwitchConfig config, Wire& wire, Nanos start)
    : config_(std::move(config)),
      ports_(config_),
      forwarding_(*this, config_, ports_, replication, wire, start) {
    if (config_.priority_queues < 1 || config_.priority_queues > kMaxPriorities)
        throw InvalidArgument("switch '" + config_.name + "': " + std::to_string(config_.priority_queues) +
                              " priority queues, expected 1 to " + std::to_string(kMaxPriorities));
}

Switch::~Switch() {
    flush();
}

void Switch::install(std::unique_ptr<Program> program) {
    forwarding_.to_control().forget_digests();
    // What is queued carries fields of the old program, which mean nothing to the new one.
    flush();
    run(std::move(program));
}

void Switch::adopt(Switch& filled, bool keep_state, Nanos now) {
    if (&filled == this) throw InvalidArgument("a switch cannot adopt its own program");
    static_cast<void>(filled.program());  // FailedPrecondition without one
    filled.flush();
    forwarding_.to_control().forget_digests();
    // The clock that they were written by is not this one.
    for (const auto& table : filled.program_->tables) table->restart_ages(now);
    if (program_) {
        finish_queued(forwarding_, ports_, now);
        if (keep_state) carry_state(*program_, *filled.program_, is_up());
    }
    filled.forwarding_.run(nullptr);
    run(std::move(filled.program_));
    replication = std::exchange(filled.replication, {});
    for (const Port* port : ports())
        if (port->up)
            for (const auto& profile : program_->profiles) profile->port_changed(port->id, is_up());
    for (Port* port : ports())
        if (port->waiting != 0 && !port->wake_scheduled) serve(*port, now);
}

// The program that goes is needed until nothing runs it.
void Switch::run(std::unique_ptr<Program> program) {
    forwarding_.run(nullptr);
    program_ = std::move(program);
    forwarding_.run(program_.get());
}

Program& Switch::program() const {
    if (!program_) throw FailedPrecondition("switch '" + config_.name + "' has no program yet");
    return *program_;
}

void Switch::remove_port(Port& port) {
    forwarding_.flush(port);
    set_port_up(port, false);
    ports_.remove(port);
}

void Switch::set_port_up(Port& port, bool up) {
    if (port.up == up) return;
    port.up = up;
    if (!program_) return;
    for (const auto& profile : program_->profiles) profile->port_changed(port.id, is_up());
}

void Switch::flush() {
    for (Port* port : ports()) forwarding_.flush(*port);
}

std::uint64_t Switch::queued() const {
    std::uint64_t all = 0;
    for (const Port* port : ports()) all += port->queued;
    return all;
}

}  // namespace csaud::sw
