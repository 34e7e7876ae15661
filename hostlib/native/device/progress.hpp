// A rank's transport as its application has it, from any thread: one endpoint and the collectives over it,
// one device (`rounds.hpp`), and whoever drives them (`drivers.hpp`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drivers.hpp"
#include "results.hpp"
#include "rounds.hpp"

namespace csaud::device {

class Progress {
  public:
    // `batch` is the most packets handed over at once, `spin` the longest time that a waiting thread looks
    // for packets without sleeping.
    Progress(const EndpointConfig& config, std::shared_ptr<Device> device, std::size_t batch, Nanos spin);

    // All calls below are from any thread but the progress thread.
    void set_peer(std::uint16_t rank, std::uint32_t ipv4, std::uint32_t qpn);
    void start() { drivers_.start(); }
    // Ends the thread and lets the device go. What is unfinished stays so; no buffer is touched afterwards.
    void stop();

    // As Device::pin.
    std::shared_ptr<const void> pin(std::span<const std::byte> memory) { return device()->pin(memory); }

    // As the endpoint's; a buffer must live until its completion was returned by wait(), or until stop().
    std::uint64_t post_send(const MessageName& name, std::uint16_t dst, std::span<const std::byte> buffer,
                            const Hints& hints);
    std::uint64_t post_recv(const MessageName& name, std::uint16_t src, std::span<std::byte> buffer,
                            const Hints& hints);

    // Appends what was completed since the last call, waiting up to `timeout` for the first. False: nothing
    // was. Throws std::runtime_error when the thread has ended by an error of the device. Transfers of
    // executions are not among them.
    bool wait(std::vector<Completion>& completions, Nanos timeout);

    // Starts a collective, which must live until it has settled, or until stop().
    void start(collectives::Execution&);
    // Starts it and waits, as start() and wait(), but without leaving the device in between.
    bool run(collectives::Execution&, Nanos timeout);
    // Waits until it is over; false: it was not within `timeout`. Throws as the other one.
    bool wait(const collectives::Execution&, Nanos timeout);
    // Waits until one of several is over; as the other one.
    bool wait_any(Wanted, Nanos timeout);
    // Sleeps until one of several is over, without driving, until recall() or `timeout`.
    void watch_any(Wanted, Nanos timeout);
    // Ends the watch that goes on, or else the next one.
    void recall();
    // What it has posted that is not over.
    std::vector<collectives::Execution::Awaited> awaited(const collectives::Execution&) const;
    // Of messages that executions received, oldest first.
    std::vector<Nanos> flow_times() const;

    // Waits until the endpoint is quiescent; false: it was not within `timeout`.
    bool wait_quiescent(Nanos timeout);

    // As the endpoint's.
    void abort(std::string_view note = {});
    std::string abort_note() const;
    void tell(std::uint16_t rank, std::string_view note);
    std::map<std::uint16_t, std::string> take_notes();
    std::vector<PendingMessage> pending() const;
    // Of std::invalid_argument: not one of the paths.
    void deny_path(std::uint16_t path, bool denied);

    // The endpoint's counters with the device's filled in.
    Stats stats() const;
    DeviceCounters device_counters() const { return device()->counters(); }
    // Nanoseconds since `rank` was last heard; nothing: never.
    std::optional<Nanos> silence(std::uint16_t rank) const;
    std::size_t max_message_bytes() const { return max_message_bytes_; }

  private:
    std::shared_ptr<Device> device() const;
    bool any_over(Wanted) const;

    const std::size_t max_message_bytes_;
    mutable std::mutex mutex_;
    Results results_;
    Rounds rounds_;
    Drivers drivers_;
};

}  // namespace csaud::device
