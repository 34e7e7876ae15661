// The verbs device: one UD queue pair on any RDMA device that libibverbs knows, RoCEv2 over IPv4.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "address_handles.hpp"
#include "async_events.hpp"
#include "device.hpp"
#include "loss_port.hpp"
#include "memory_regions.hpp"
#include "queue_pair.hpp"
#include "receive_queue.hpp"
#include "send_queue.hpp"

namespace csaud::device::verbs {

struct VerbsConfig {
    std::string device;  // as in /sys/class/infiniband
    std::uint8_t port = 1;
    std::uint8_t gid_index = 0;             // of the RoCEv2 GID of `ipv4`
    std::uint32_t ipv4 = 0;                 // host byte order
    std::size_t path_mtu = 4096;            // bytes from the CSA header on
    std::size_t batch = 32;                 // work requests per post
    std::size_t receive_buffer = 32 << 20;  // bytes of receive buffers, less where the device has fewer
};

class VerbsDevice final : public Device {
  public:
    // Throws std::system_error or std::runtime_error; nothing is received before start().
    explicit VerbsDevice(const VerbsConfig&);
    ~VerbsDevice() override;

    // Receives and sends under this Q_Key from now on. Before the progress thread.
    void start(std::uint32_t qkey);

    Sent send(std::span<const TxPacket> packets) override;
    Received receive() override;
    void watch(std::vector<pollfd>& list, bool writable) const override;
    DeviceCounters counters() const override;
    void prepare(std::uint32_t ipv4) override;
    std::shared_ptr<const void> pin(std::span<const std::byte> memory) override;

    std::uint32_t qpn() const { return pair_.number(); }
    // Whether cut packets of the first form come to this process.
    bool has_loss_port() const { return loss_port_.open(); }

  private:
    std::uint64_t drops() const;
    bool failed() const { return broken_ || flushing_ || sends_.failed() || receives_.failed(); }
    void recover();

    const VerbsConfig config_;
    QueuePair pair_;
    AsyncEvents events_;
    MemoryRegions memory_;
    AddressHandles handles_;
    ReceiveQueue receives_;
    SendQueue sends_;
    LossPort loss_port_;
    std::vector<Packet> packets_;
    std::uint32_t qkey_ = 0;
    bool broken_ = false;              // the queue pair, by the device's word
    bool flushing_ = false;            // the queue pair has failed and its requests come back
    std::int64_t flushing_since_ = 0;  // ns
    std::int64_t started_ = 0;         // ns
    std::string drops_file_;
    std::uint64_t drops_before_ = 0;
    std::atomic<std::uint64_t> restarts_ = 0;
    std::atomic<std::uint64_t> reports_ = 0;
};

}  // namespace csaud::device::verbs
