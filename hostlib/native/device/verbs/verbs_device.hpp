// The verbs device: one UD queue pair on any RDMA device that libibverbs knows, RoCEv2 over IPv4 or IPv6.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "address_family.hpp"
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
    std::uint8_t gid_index = 0;             // of `gid`, which is of RoCEv2
    in6_addr gid{};                         // an IPv6 address, or an IPv4 one mapped into it
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
    // See AddressFamily.
    void set_names(ip6::Names names) { family_->set_names(std::move(names)); }

    Sent send(std::span<const TxPacket> packets) override;
    Received receive() override;
    void watch(std::vector<pollfd>& list, bool writable) const override;
    DeviceCounters counters() const override;
    void prepare(std::uint32_t address) override;
    std::shared_ptr<const void> pin(std::span<const std::byte> memory) override;

    std::uint32_t qpn() const { return pair_.number(); }
    // Whether cut packets of the first form come to this process.
    bool has_loss_port() const { return loss_port_ != nullptr; }

  private:
    std::uint64_t drops() const;
    bool failed() const { return broken_ || flushing_ || sends_.failed() || receives_.failed(); }
    void recover();

    const VerbsConfig config_;
    const std::unique_ptr<AddressFamily> family_;
    QueuePair pair_;
    AsyncEvents events_;
    MemoryRegions memory_;
    AddressHandles handles_;
    ReceiveQueue receives_;
    SendQueue sends_;
    const std::unique_ptr<LossPort> loss_port_;
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
