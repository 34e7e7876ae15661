#include "shared_device.hpp"

#include <sys/eventfd.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "clock.hpp"
#include "sockets.hpp"

namespace csaud::device::shared {
namespace {

// Looks at rings between two at what costs a system call: the mailbox, and the device under it where it has
// nothing to bring.
constexpr unsigned kSeldom = 64;
constexpr Nanos kRetry = 10 * kMillisecond;  // of a ring that the peer did not take
constexpr std::size_t kMostUnclaimed = 64;

}  // namespace

SharedDevice::SharedDevice(std::shared_ptr<Device> under, FileDescriptor socket, std::size_t ring_bytes,
                           std::size_t batch)
    : under_(std::move(under)),
      ring_bytes_(ring_bytes),
      batch_(batch),
      mailbox_(std::move(socket)),
      ready_(::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!ready_) throw_errno("open an eventfd");
}

void SharedDevice::share(QueuePair own, std::span<const LocalRank> ranks, bool all, RingSize size) {
    // Peers read what comes under a name that they know: under another one (IPv6's follow ranks) rings are
    // new.
    if (own != std::exchange(own_, own)) peers_.clear();
    std::vector<Peer> peers;
    peer_of_.clear();
    for (const LocalRank& who : ranks) {
        if (who.rank >= peer_of_.size()) peer_of_.resize(who.rank + std::size_t{1});
        peer_of_[who.rank] = peers.size();
        // What it was handed it still has, whatever its rank was then.
        const auto known = std::ranges::find(peers_, who.pair, [](const Peer& p) { return p.who.pair; });
        peers.push_back({who, MailboxName(who.address, who.pair.qpn), {}});
        if (known != peers_.end()) peers.back().ring = std::move(known->ring);
    }
    peers_ = std::move(peers);
    all_ = all;
    size_ = size;
    const std::lock_guard lock(mutex_);
    for (Source& source : sources_) {
        if (!is_peer(source.from)) retire(source);
    }
    std::erase_if(sources_, [](const Source& source) { return source.reader == nullptr; });
    sort(std::exchange(unclaimed_, {}));
}

bool SharedDevice::is_peer(const QueuePair& pair) const {
    return std::ranges::any_of(peers_, [&](const Peer& peer) { return peer.who.pair == pair; });
}

Sent SharedDevice::send(std::span<const TxPacket> packets) {
    Sent sent;
    std::size_t held_back = 0;  // packets for the device under this one, before sent.taken
    const auto send_under = [&] {
        if (held_back == 0) return true;
        const std::size_t first = sent.taken - held_back;
        const Sent under = under_->send(packets.subspan(first, std::exchange(held_back, 0)));
        sent.result = under.result;
        if (under.result != SendResult::done) sent.taken = first + under.taken;
        return under.result == SendResult::done;
    };
    for (; sent.taken < packets.size(); ++sent.taken) {
        RingWriter* ring = ring_to(packets[sent.taken]);
        if (ring == nullptr) {
            ++held_back;
            continue;
        }
        if (!send_under()) break;
        ring->put(packets[sent.taken]);
    }
    send_under();
    publish();
    return sent;
}

// Where a packet goes through memory: the ring.
RingWriter* SharedDevice::ring_to(const TxPacket& packet) {
    if (packet.dst_rank >= peer_of_.size() || !peer_of_[packet.dst_rank]) return nullptr;
    Peer& peer = peers_[*peer_of_[packet.dst_rank]];
    if (!peer.ring) hand_over(peer);
    if (!peer.ring || !peer.ring->open() || !peer.ring->holds(packet)) return nullptr;
    peer.written = true;
    return peer.ring.get();
}

// With the first packet: a ring to ranks that are never sent to would be in vain. Without memory, and until
// the peer has taken it, the device under this one serves.
void SharedDevice::hand_over(Peer& peer) {
    const Nanos now = monotonic_now();
    if (peer.tried != 0 && now - peer.tried < kRetry) return;
    peer.tried = now;
    try {
        auto ring =
            std::make_unique<RingWriter>(size_.packet_bytes, size_.packets, ring_bytes_ / peers_.size());
        if (!mailbox_.send(peer.mailbox, own_, ring->memory())) return;
        ring->close_memory();
        peer.ring = std::move(ring);
    } catch (const std::system_error&) {
        return;
    }
}

void SharedDevice::publish() {
    for (Peer& peer : peers_) {
        if (std::exchange(peer.written, false) && peer.ring->publish()) mailbox_.wake(peer.mailbox);
    }
}

Received SharedDevice::receive() {
    packets_.clear();
    const bool slept = slept_.load(std::memory_order_relaxed) && slept_.exchange(false);
    const bool seldom = slept || ++looks_ % kSeldom == 0;
    if (slept) {
        for (const Source& source : sources_) source.reader->wake();
    }
    if (seldom) take_mail();
    Received received;
    for (const Source& source : sources_) received.more |= source.reader->take(packets_, batch_);
    first_under_ = packets_.size();
    if (!all_ || seldom) {
        const Received under = under_->receive();
        packets_.insert(packets_.end(), under.packets.begin(), under.packets.end());
        received.more |= under.more;
    }
    received.packets = packets_;
    return received;
}

void SharedDevice::before(std::size_t index) {
    if (index >= first_under_) under_->before(index - first_under_);
}

void SharedDevice::take_mail() {
    std::vector<Parcel> parcels;
    mailbox_.receive(parcels);
    if (parcels.empty()) return;
    const std::lock_guard lock(mutex_);
    sort(std::move(parcels));
}

// Under the lock.
void SharedDevice::sort(std::vector<Parcel> parcels) {
    for (Parcel& parcel : parcels) {
        if (is_peer(parcel.from))
            adopt(parcel);
        else if (unclaimed_.size() < kMostUnclaimed)  // of an epoch that begins
            unclaimed_.push_back(std::move(parcel));
    }
}

// Under the lock. What is no ring is passed over: it would be this user's own doing.
void SharedDevice::adopt(const Parcel& parcel) {
    try {
        auto reader = std::make_unique<RingReader>(parcel.memory);
        const auto known = std::ranges::find(sources_, parcel.from, &Source::from);
        if (known == sources_.end()) {
            sources_.push_back({parcel.from, std::move(reader)});
        } else {
            retire(*known);
            known->reader = std::move(reader);
        }
    } catch (const std::invalid_argument&) {
    } catch (const std::system_error&) {
    }
}

void SharedDevice::retire(Source& source) {
    dropped_ += source.reader->dropped();
    source.reader.reset();
}

void SharedDevice::watch(std::vector<pollfd>& list, bool writable) const {
    under_->watch(list, writable);
    list.push_back({mailbox_.watch(), POLLIN, 0});
    const std::lock_guard lock(mutex_);
    slept_ = true;
    bool any = false;
    for (const Source& source : sources_) any |= source.reader->sleep();
    if (any) list.push_back({ready_.get(), POLLIN, 0});
}

DeviceCounters SharedDevice::counters() const {
    DeviceCounters counters = under_->counters();
    const std::lock_guard lock(mutex_);
    counters.rx_queue_drops += dropped_;
    for (const Source& source : sources_) counters.rx_queue_drops += source.reader->dropped();
    return counters;
}

}  // namespace csaud::device::shared
