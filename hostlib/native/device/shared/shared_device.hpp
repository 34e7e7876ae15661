// A device whose packets to ranks of this host go through shared memory, and all others through the device
// under it, which also takes what memory is not there for.
//
// The packets are the same, and so is what becomes of them: no lock is shared, a ring that is full loses
// packets, and a rank that dies is silent.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "csaud_host/base/time.hpp"
#include "device.hpp"
#include "mailbox.hpp"
#include "packet_ring.hpp"

namespace csaud::device::shared {

// A rank that can share memory with this one.
struct LocalRank {
    std::uint16_t rank = 0;
    QueuePair pair;
    std::string address;  // of its mailbox
};

// Of a ring.
struct RingSize {
    std::size_t packet_bytes = 0;
    std::size_t packets = 0;  // at most
};

class SharedDevice final : public Device {
  public:
    // `socket` is this rank's mailbox; its rings to all ranks have `ring_bytes` together, and one receive()
    // gives at most `batch` packets of a ring. Throws std::system_error.
    SharedDevice(std::shared_ptr<Device> under, FileDescriptor socket, std::size_t ring_bytes,
                 std::size_t batch);

    // From now on this rank is `own`, and the job's other ranks of this host are these, to whom it makes
    // rings of that size; `all`: it has no others. While nobody drives.
    void share(QueuePair own, std::span<const LocalRank> ranks, bool all, RingSize);

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
        LocalRank who;
        MailboxName mailbox;
        std::unique_ptr<RingWriter> ring;  // once it was handed over
        Nanos tried = 0;
        bool written = false;  // since it was last published
    };
    struct Source {
        QueuePair from;
        std::unique_ptr<RingReader> reader;
    };

    RingWriter* ring_to(const TxPacket& packet);
    void hand_over(Peer&);
    void publish();
    void take_mail();
    void sort(std::vector<Parcel>);
    bool is_peer(const QueuePair&) const;
    void adopt(const Parcel&);
    void retire(Source&);

    const std::shared_ptr<Device> under_;
    const std::size_t ring_bytes_;
    const std::size_t batch_;
    Mailbox mailbox_;
    FileDescriptor ready_;  // always readable

    // The driver's own.
    QueuePair own_;
    RingSize size_;
    std::vector<Peer> peers_;
    std::vector<std::optional<std::size_t>> peer_of_;  // index of a peer, by rank
    bool all_ = false;
    unsigned looks_ = 0;
    std::vector<Packet> packets_;
    std::size_t first_under_ = 0;    // of packets_
    std::vector<Parcel> unclaimed_;  // from queue pairs that are not known yet

    mutable std::atomic<bool> slept_ = false;  // somebody waited since the last look
    mutable std::mutex mutex_;                 // of what follows, where it is changed or another thread looks
    std::vector<Source> sources_;
    std::uint64_t dropped_ = 0;  // by rings that are gone
};

}  // namespace csaud::device::shared
