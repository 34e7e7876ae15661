// What the progress thread needs of a device: hand over packets, take packets, say what to wait for.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "csaud_host/endpoint/endpoint.hpp"

namespace csaud::device {

using Packet = std::span<const std::byte>;  // from the IPv4 header on

struct DeviceConfig {
    std::uint32_t ipv4 = 0;                 // local address, host byte order
    std::uint32_t qpn = 0;                  // packets to other queue pairs are not ours
    std::size_t packet_bytes = 4096 + 128;  // longest packet, from the IPv4 header on
    std::size_t batch = 32;                 // packets per system call
    int receive_buffer = 32 << 20;          // bytes, asked of the kernel
    // UDP sockets only: the kernel cuts and merges trains of packets (UDP_SEGMENT, UDP_GRO). What faces a
    // switch must not: it would see packets of 64 KB, and IP ids that count.
    bool segmentation = false;
};

// What one system call brought. The packets live until the next receive().
struct Received {
    std::span<const Packet> packets;
    bool more = false;  // the batch was full: ask again before waiting
};

enum class SendResult : std::uint8_t {
    done,     // all were taken
    blocked,  // the socket's buffer is full: again when it is writable
    starved,  // the interface's queue is full: again after a moment, no event tells when
};

struct Sent {
    std::size_t taken = 0;  // packets that need not be handed over again
    SendResult result = SendResult::done;
};

struct DeviceCounters {
    std::uint64_t rx_queue_drops = 0;   // packets that came while the receive queue was full
    std::uint64_t tx_errors = 0;        // packets that the kernel refused for good
    std::uint64_t rx_bad_icrc = 0;      // packets that the device itself found damaged
    std::uint64_t tx_blocked = 0;       // times that sending had to wait for the kernel
    std::uint64_t tx_copied = 0;        // packets whose payload a device had to copy: memory not registered
    std::uint64_t device_reports = 0;   // that an RDMA device made of itself and its ports
    std::uint64_t device_restarts = 0;  // times that a queue pair had failed and was made as new
};

// All calls but watch() and counters() come from one thread at a time, though not always the same one, and
// never block.
class Device {
  public:
    Device() = default;
    virtual ~Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    // Hands over packets in order. What the kernel refuses for good is counted and passed over.
    virtual Sent send(std::span<const TxPacket> packets) = 0;
    virtual Received receive() = 0;
    // Called right before packet `index` of what came last is looked at, in order; the ones before it are
    // not looked at any more.
    virtual void before(std::size_t /*index*/) {}

    // Appends what to wait for: arrivals, and with `writable` room to send. Of a thread that goes to sleep,
    // while another one may already drive.
    virtual void watch(std::vector<pollfd>& list, bool writable) const = 0;

    // From any thread.
    virtual DeviceCounters counters() const = 0;

    // Finds the way to a peer beforehand, where that takes time. Before anything is sent.
    virtual void prepare(std::uint32_t /*ipv4*/) {}

    // Memory from which payload will be sent, for as long as somebody holds the result; from any thread. A
    // device that reads it by itself registers it.
    virtual std::shared_ptr<const void> pin(std::span<const std::byte> /*memory*/) { return nullptr; }
};

}  // namespace csaud::device
