// One endpoint, one device, and the thread between them.
//
// The thread answers the peers whatever the application does: it never touches Python, so a rank that
// computes or holds Python's lock still acknowledges, repeats and proves that it is alive. It sleeps in ppoll
// until a packet comes, until the endpoint's next deadline, or until a post wakes it, and burns no time
// otherwise.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "device.hpp"
#include "endpoint.hpp"
#include "file_descriptor.hpp"

namespace csaud::device {

class Progress {
  public:
    // `batch` is the most packets handed over at once.
    Progress(const EndpointConfig& config, std::shared_ptr<Device> device, std::size_t batch);
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
    // was. Throws std::runtime_error when the thread has ended by an error of the device.
    bool wait(std::vector<Completion>& completions, Nanos timeout);

    // Waits until the endpoint is quiescent; false: it was not within `timeout`.
    bool wait_quiescent(Nanos timeout);

    void abort();
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
    // Packets the kernel did not take, with their payload, since the message may end before it takes them.
    struct Backlog {
        std::vector<TxPacket> packets;
        std::vector<std::byte> payload;
        SendResult reason = SendResult::done;
    };

    void run();
    bool turn();
    void take_arrivals(const Received& arrivals);
    std::size_t gather();
    void hand_over(std::span<const TxPacket> packets);
    void keep(std::span<const TxPacket> packets, SendResult reason);
    void collect_completions();
    void sleep_until_work();
    void wake_for_post(std::unique_lock<std::mutex>&);
    void wake(bool asleep);

    const std::shared_ptr<Device> device_;
    const std::size_t max_message_bytes_;
    const FileDescriptor wakeup_;

    // The thread's own.
    std::vector<TxPacket> outgoing_;
    std::vector<pollfd> poll_list_;
    Backlog backlog_;
    bool more_arrivals_ = false;
    unsigned turns_without_timer_ = 0;

    mutable std::mutex mutex_;
    Endpoint endpoint_;  // under mutex_, as all below
    std::vector<Completion> completed_;
    std::string failure_;  // why the thread ended, empty while it runs
    bool posted_ = false;  // since the last turn
    bool asleep_ = false;  // in ppoll, so a post has to wake it
    std::condition_variable completion_;

    std::atomic<bool> stopping_ = false;
    std::thread thread_;
};

}  // namespace csaud::device
