// A device whose packets to ranks on its own link go in trains, through a UDP socket of its own, and all
// others through the device under it, which also takes what is sent before it is known who is where.
//
// The packets are the same to the endpoint. The socket's datagrams live for one hop (TTL 1): no router and no
// switch of a fabric ever forwards a train, also where routes change while a job runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "csaud_host/base/time.hpp"
#include "datagrams.hpp"
#include "device.hpp"
#include "file_descriptor.hpp"
#include "link_trial.hpp"
#include "receive_batch.hpp"
#include "send_batch.hpp"
#include "send_tally.hpp"

namespace csaud::device::onlink {

// A rank that may be on the link.
struct LinkPeer {
    std::uint16_t rank = 0;
    std::uint32_t ipv4 = 0;
    std::uint16_t port = 0;  // of its trains
    bool udp = false;        // its device has UDP sockets, which write other headers than raw ones
};

// A source of packets where a look costs a system call: one that brings nothing is looked at less often.
class Attention {
  public:
    bool due() { return quiet_ < kPatience || ++skipped_ % kSeldom == 0; }
    void found(bool any) { quiet_ = any ? 0 : quiet_ + 1; }

  private:
    static constexpr unsigned kPatience = 16, kSeldom = 8;  // looks

    unsigned quiet_ = 0, skipped_ = 0;
};

class OnLinkDevice final : public Device {
  public:
    // `config`: as for the device under it. Throws std::system_error.
    OnLinkDevice(std::shared_ptr<Device> under, const DeviceConfig& config);

    // Where this rank's trains come to.
    std::uint16_t port() const;

    // From now on the job's other ranks are these, and its path MTU this. Those to whom a gateway leads are
    // not asked. While nobody drives; in the device's network namespace.
    void link(std::span<const LinkPeer> peers, std::size_t path_mtu);

    Sent send(std::span<const TxPacket> packets) override;
    Received receive() override;
    void before(std::size_t index) override;
    void watch(std::vector<pollfd>& list, bool writable) const override;
    DeviceCounters counters() const override;
    void prepare(std::uint32_t ipv4) override { under_->prepare(ipv4); }
    std::shared_ptr<const void> pin(std::span<const std::byte> memory) override {
        return under_->pin(memory);
    }

  private:
    struct Peer {
        LinkPeer who;
        LinkTrial trial;
        unsigned padding = 0;  // packets that came since its last question
    };

    Peer* peer_of(const TxPacket& packet);
    bool goes_in_trains(const TxPacket& packet, Nanos now);
    Sent send_trains(std::span<const TxPacket> packets);
    void ask(const Peer& peer, Question question);
    void say(const Peer& peer, std::span<const std::byte> datagram, std::size_t segment = 0);
    std::size_t take_trains();
    void take(Peer& peer, std::span<std::byte> slot, const Control& control);
    void heard(Peer& peer, Question question);

    const std::shared_ptr<Device> under_;
    const std::uint32_t ipv4_;
    FileDescriptor socket_;
    SendBatch send_batch_;
    ReceiveBatch receive_batch_;

    // The driver's own.
    std::vector<Peer> peers_;
    std::vector<std::optional<std::size_t>> peer_of_rank_;           // index of a peer
    std::unordered_map<std::uint64_t, std::size_t> peer_of_source_;  // the same, by address and port
    std::size_t longest_ = 0;                                        // bytes of a packet from BTH on
    std::vector<std::byte> padding_;                                 // of a question behind a train
    Datagrams trains_;
    Attention at_trains_, at_under_;
    std::vector<Packet> packets_;
    std::size_t first_under_ = 0;  // of packets_

    mutable std::atomic<bool> slept_ = false;  // somebody waited since the last look
    std::atomic<bool> blocked_ = false;        // it was this socket that had no room
    SendTally tally_;                          // of trains
};

}  // namespace csaud::device::onlink
