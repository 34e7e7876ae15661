// One endpoint, one device, the collectives over them, and who runs them all: the thread that waits for a
// completion itself, or else a thread of its own.
//
// A thread in wait() drives: it receives, runs timers and sends, so that no other thread has to be woken on
// the way of a message. It looks for packets without sleeping for a short while first. When nobody waits, the
// progress thread takes over: it answers the peers whatever the application does and never touches Python, so
// a rank that computes or holds Python's lock still goes on with its collectives, acknowledges, repeats and
// proves that it is alive. It
// sleeps in ppoll until a packet comes, until the endpoint's next deadline, or until a post wakes it.
//
// Between two waits of an application that is busy with messages the progress thread stands by for a moment
// instead of taking over, since it would only be in the way.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "collectives/endpoint_port.hpp"
#include "collectives/executor.hpp"
#include "csaud_host/endpoint/endpoint.hpp"
#include "device.hpp"
#include "file_descriptor.hpp"
#include "outbox.hpp"

namespace csaud::device {

class Progress {
  public:
    // `batch` is the most packets handed over at once, `spin` the longest time that a waiting thread looks
    // for packets without sleeping.
    Progress(const EndpointConfig& config, std::shared_ptr<Device> device, std::size_t batch, Nanos spin);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    // All calls below are from any thread but the progress thread.
    void set_peer(std::uint16_t rank, std::uint32_t ipv4, std::uint32_t qpn);
    void start();
    // Ends the thread. What is unfinished stays so; no buffer is touched afterwards.
    void stop();

    // As Device::pin.
    std::shared_ptr<const void> pin(std::span<const std::byte> memory) { return device_->pin(memory); }

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
    bool wait_any(std::span<const collectives::Execution* const>, Nanos timeout);
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
    void abort_peer(std::uint16_t rank);
    // Of std::invalid_argument: not one of the paths.
    void deny_path(std::uint16_t path, bool denied);

    // The endpoint's counters with the device's filled in.
    Stats stats() const;
    DeviceCounters device_counters() const { return device_->counters(); }
    // Nanoseconds since `rank` was last heard; nothing: never.
    std::optional<Nanos> silence(std::uint16_t rank) const;
    std::size_t max_message_bytes() const { return max_message_bytes_; }

  private:
    // Who works with the device. Whoever it is leaves the lock while it does.
    enum class Driver : std::uint8_t { none, thread, caller };

    // How a driver is woken from its sleep.
    struct Bed {
        FileDescriptor wakeup;
        std::vector<pollfd> list;
        bool occupied = false;  // under mutex_
    };

    // What a turn came upon.
    struct Found {
        bool more = false;      // to be done at once
        bool arrivals = false;  // packets came
        bool wanted = false;    // a caller would rather drive
    };

    // What a caller waits for: the end of one of these executions; without any, a completion of none.
    using Wanted = std::span<const collectives::Execution* const>;

    // A caller that waits while somebody else drives.
    struct Waiter {
        Wanted wanted;
        std::condition_variable wakeup;
    };

    using Lock = std::unique_lock<std::mutex>;

    void run();
    bool takes_over() const;
    void stand_by(Lock&);
    bool over(Wanted) const;
    void await(Lock&, Wanted, Nanos timeout);
    bool finish(Lock&, Wanted, Nanos timeout);
    void drive(Lock&, Wanted, Nanos until);
    void tell_waiters();
    void call_next();
    bool reduce_some();
    bool look_again(const Found&, Nanos now, Nanos& idle_since);
    void leave(Lock&);
    Found turn();
    Nanos take_arrivals(const Received& arrivals);
    void hand_over();
    void collect_completions(Nanos now);
    void sleep(Lock&, Bed&, Nanos until);
    void after_post(Lock&, bool send);
    void push(Lock&);
    void fail(const char* why);
    static void wake(Bed&);

    const std::shared_ptr<Device> device_;
    const std::size_t max_message_bytes_;
    const Nanos spin_;

    // The driver's own.
    Outbox outbox_;
    unsigned turns_without_timer_ = 0;
    unsigned spins_ = 0;
    Nanos spin_now_;  // shorter while spinning was in vain

    mutable std::mutex mutex_;
    Endpoint endpoint_;  // under mutex_, as all below
    collectives::EndpointPort port_{endpoint_};
    collectives::Executor executor_{endpoint_.config().rank, endpoint_.config().epoch};
    const std::shared_ptr<const void> send_memory_ = device_->pin(executor_.send_memory());
    std::vector<Completion> completed_;  // of no execution
    std::string failure_;                // why nobody drives any more, empty as long as somebody may
    bool running_ = false;
    Driver driver_ = Driver::none;
    std::vector<Waiter*> waiters_;
    bool posted_ = false;             // since something was last gathered
    Nanos caller_left_ = 0;           // when a caller last drove
    std::uint64_t caller_turns_ = 0;  // how often callers drove
    // How long a caller must be away before the progress thread takes over, unless it left work behind.
    static constexpr Nanos kStandBy = 200 * kMicrosecond;
    Nanos away_ = kStandBy;
    bool left_work_ = false;    // a caller went away while collectives run
    bool standing_by_ = false;  // the progress thread wants to be told when a caller leaves
    Bed thread_bed_;
    Bed caller_bed_;
    std::condition_variable left_;  // nobody drives any more
    std::condition_variable stand_by_;

    std::atomic<bool> stopping_ = false;
    pid_t process_ = 0;  // that has the thread
    std::thread thread_;
};

}  // namespace csaud::device
