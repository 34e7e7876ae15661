#include "progress.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "clock.hpp"

namespace csaud::device {

Progress::Progress(const EndpointConfig& config, std::shared_ptr<Device> device, std::size_t batch,
                   Nanos spin)
    : max_message_bytes_(Endpoint(config).max_message_bytes()),
      rounds_(config, std::move(device), batch, mutex_, results_),
      drivers_(rounds_, results_, mutex_, spin) {}

void Progress::set_peer(std::uint16_t rank, std::uint32_t ipv4, std::uint32_t qpn) {
    {
        const std::lock_guard lock(mutex_);
        rounds_.endpoint().set_peer(rank, ipv4, qpn);
    }
    device()->prepare(ipv4);
}

void Progress::stop() {
    if (!drivers_.stop()) return;
    std::shared_ptr<Device> former;  // ends after the lock: who made it may need Python's first
    const std::lock_guard lock(mutex_);
    former = rounds_.release_device();
}

std::shared_ptr<Device> Progress::device() const {
    const std::lock_guard lock(mutex_);
    return rounds_.device();
}

std::uint64_t Progress::post_send(const MessageName& name, std::uint16_t dst,
                                  std::span<const std::byte> buffer, const Hints& hints) {
    Lock lock(mutex_);
    const std::uint64_t id = rounds_.endpoint().post_send(name, dst, buffer, hints, monotonic_now());
    drivers_.after_post(lock, true);
    return id;
}

std::uint64_t Progress::post_recv(const MessageName& name, std::uint16_t src, std::span<std::byte> buffer,
                                  const Hints& hints) {
    Lock lock(mutex_);
    const std::uint64_t id = rounds_.endpoint().post_recv(name, src, buffer, hints, monotonic_now());
    drivers_.after_post(lock, false);
    return id;
}

bool Progress::wait(std::vector<Completion>& completions, Nanos timeout) {
    Lock lock(mutex_);
    drivers_.await(lock, {}, timeout);
    if (!results_.any()) results_.check();
    if (!results_.any()) return false;
    results_.take(completions);
    return true;
}

void Progress::start(collectives::Execution& execution) {
    Lock lock(mutex_);
    results_.check();
    rounds_.start(execution, monotonic_now());
    drivers_.after_post(lock, true);
}

bool Progress::run(collectives::Execution& execution, Nanos timeout) {
    Lock lock(mutex_);
    results_.check();
    rounds_.start(execution, monotonic_now());
    const collectives::Execution* const wanted[] = {&execution};
    drivers_.post_and_await(lock, wanted, timeout);
    return any_over(wanted);
}

bool Progress::wait(const collectives::Execution& execution, Nanos timeout) {
    if (execution.over()) return true;
    const collectives::Execution* const wanted[] = {&execution};
    return wait_any(wanted, timeout);
}

bool Progress::wait_any(Wanted executions, Nanos timeout) {
    if (executions.empty()) throw std::invalid_argument("a wait for none of no collectives");
    Lock lock(mutex_);
    drivers_.await(lock, executions, timeout);
    return any_over(executions);
}

void Progress::watch_any(Wanted executions, Nanos timeout) {
    Lock lock(mutex_);
    Results::Waiter me(results_, executions, false);
    me.wakeup.wait_for(lock, std::chrono::nanoseconds(timeout),
                       [&] { return results_.over(executions) || results_.recalled(); });
    results_.forget_recall();
}

void Progress::recall() {
    const std::lock_guard lock(mutex_);
    results_.recall();
}

bool Progress::any_over(Wanted executions) const {
    if (std::ranges::any_of(executions, &collectives::Execution::over)) return true;
    results_.check();
    return false;
}

std::vector<collectives::Execution::Awaited> Progress::awaited(
    const collectives::Execution& execution) const {
    const std::lock_guard lock(mutex_);
    return execution.awaited();
}

std::vector<Nanos> Progress::flow_times() const {
    const std::lock_guard lock(mutex_);
    return rounds_.executor().flow_times().all();
}

bool Progress::wait_quiescent(Nanos timeout) {
    // Quiet is a matter of time passing, which no event tells; the endpoint's linger is longer than this
    // step.
    constexpr Nanos kStep = 10 * kMillisecond;
    const Nanos deadline = monotonic_now() + timeout;
    Lock lock(mutex_);
    for (;;) {
        results_.check();
        const Nanos now = monotonic_now();
        if (!results_.any() && !rounds_.executor().has_work() && rounds_.endpoint().quiescent(now))
            return true;
        if (now >= deadline) return false;
        drivers_.wait_for_leave(lock, kStep);
    }
}

void Progress::abort(std::string_view note) {
    Lock lock(mutex_);
    rounds_.endpoint().abort(monotonic_now(), note);
    drivers_.after_post(lock, true);
}

void Progress::deny_path(std::uint16_t path, bool denied) {
    const std::lock_guard lock(mutex_);
    rounds_.endpoint().deny_path(path, denied);
}

void Progress::tell(std::uint16_t rank, std::string_view note) {
    Lock lock(mutex_);
    rounds_.endpoint().tell(rank, note);
    drivers_.after_post(lock, true);
}

std::map<std::uint16_t, std::string> Progress::take_notes() {
    const std::lock_guard lock(mutex_);
    return rounds_.endpoint().take_notes();
}

std::string Progress::abort_note() const {
    const std::lock_guard lock(mutex_);
    return rounds_.endpoint().abort_note();
}

std::vector<PendingMessage> Progress::pending() const {
    const std::lock_guard lock(mutex_);
    return rounds_.endpoint().pending();
}

Stats Progress::stats() const {
    const DeviceCounters counters = device_counters();
    const std::lock_guard lock(mutex_);
    Stats stats = rounds_.endpoint().stats();
    stats.rx_queue_drops = counters.rx_queue_drops;
    stats.tx_errors = counters.tx_errors;
    stats.rx_bad_icrc += counters.rx_bad_icrc;
    return stats;
}

std::optional<Nanos> Progress::silence(std::uint16_t rank) const {
    const std::lock_guard lock(mutex_);
    const Nanos heard = rounds_.endpoint().last_contact(rank);
    if (heard == 0) return std::nullopt;
    return monotonic_now() - heard;
}

}  // namespace csaud::device
