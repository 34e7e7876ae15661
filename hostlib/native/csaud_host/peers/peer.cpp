#include "csaud_host/peers/peer.hpp"

#include <algorithm>

namespace csaud {
namespace {

// Addresses are looked up for bounced packets alone, so memory counts more than probes.
constexpr unsigned kAddressLoad = 80;  // percent
// Of an address within its subnet: racks have one each (RFC 7938), here of 256 addresses.
constexpr unsigned kSubnetBits = 8;

bool idle(const Peer& p, Nanos before) noexcept {
    const bool unfinished = p.waits != 0 || !p.begun.empty() || p.incoming != 0 || p.early != 0;
    return !unfinished && !p.in_ready && !p.credit_queued && p.last_heard <= before &&
           p.silent_since <= before;
}

}  // namespace

PeerTable::PeerTable(const EndpointConfig& config)
    : config_(config),
      entries_(config.world),
      ranks_(AddressOf{&entries_}, config.world, kAddressLoad),
      denied_(config.paths, false),
      all_paths_(config.paths) {}

void PeerTable::set_address(std::uint16_t rank, std::uint32_t ipv4, std::uint32_t qpn) {
    if (entries_[rank].at.qpn != 0) ranks_.erase(rank);
    entries_[rank].at = {ipv4, qpn};
    ranks_.add(rank);
}

std::int32_t PeerTable::rank_at(std::uint32_t ipv4, std::uint32_t qpn) const noexcept {
    const std::uint32_t rank = ranks_.find(Address{ipv4, qpn});
    return rank == kNone ? -1 : static_cast<std::int32_t>(rank);
}

Peer& PeerTable::activate(std::uint16_t rank) {
    Entry& e = entries_[rank];
    Peer& p = pool_[pool_.take()];
    e.active = &p;
    p = Peer();
    p.rank = rank;
    wake(p, e);
    return p;
}

void PeerTable::wake(Peer& p, Entry& e) {
    const std::uint32_t window = initial_window(config_);
    const RestingPeer& r = e.resting;
    p.credit = credit_at_rest(e);
    p.grant = e.rested ? CreditGrant(window, r.grant) : CreditGrant(window);
    p.window = SendWindow(config_.window, r.credit.sent);
    p.arrivals = ReceiveWindow(config_.window, r.grant.consumed);
    // Ranks begin their rounds at different paths, so that they do not meet on the same one: whatever s is
    // where each sends to the rank s beyond itself, neighbours are 5 paths apart, which no usual number of
    // uplinks divides. So does a rank for each of its peers.
    const std::uint32_t start = std::uint32_t{config_.rank} * 4 + p.rank;
    SharedPaths& subnet = subnet_paths_.try_emplace(e.at.ipv4 >> kSubnetBits, config_.paths).first->second;
    p.paths = PeerPaths(config_.path_policy, config_.paths, start, p.rank, denied_, all_paths_, subnet);
    p.tx_seq.assign(config_.paths, r.path_seq);
    p.rx_paths.assign(config_.paths, PathTracker(!e.rested));
    p.rtt = RttEstimator(r.rtt_us == 0 ? config_.rtt_initial : r.rtt_us * kMicrosecond);
    p.last_heard = r.last_heard_s * kSecond;
    p.ever_heard = r.last_heard_s != 0;
    if (const auto ecn = resting_ecn_.extract(p.rank); !ecn.empty()) p.ecn = std::move(ecn.mapped());
}

void PeerTable::rest(const Serial& path_serial, Nanos before) {
    for (std::uint32_t i = 0; i < pool_.capacity(); ++i) {
        Peer& p = pool_[i];
        Entry& e = entries_[p.rank];
        if (e.active != &p || !idle(p, before)) continue;
        std::uint16_t seq = p.tx_seq[0];
        for (const std::uint16_t other : p.tx_seq) {
            if (path_serial.distance(seq, other) > 0) seq = other;
        }
        e.rested = true;
        e.resting = {
            p.credit.resting(), p.grant.resting(),
            p.rtt.measured() ? static_cast<std::uint32_t>(p.rtt.base() / kMicrosecond + 1) : 0,
            p.ever_heard ? static_cast<std::uint32_t>(std::max(p.last_heard / kSecond, Nanos{1})) : 0, seq};
        if (p.ecn != nullptr) resting_ecn_.emplace(p.rank, std::move(p.ecn));
        p = Peer();  // gives its arrays back
        e.active = nullptr;
        pool_.release(i);
    }
}

CreditAccount PeerTable::credit_at_rest(const Entry& e) const noexcept {
    return e.rested ? CreditAccount(e.resting.credit) : CreditAccount(initial_window(config_));
}

CreditAccount PeerTable::credit(std::uint16_t rank) const noexcept {
    const Peer* p = find(rank);
    return p != nullptr ? p->credit : credit_at_rest(entries_[rank]);
}

Nanos PeerTable::last_heard(std::uint16_t rank) const noexcept {
    if (const Peer* p = find(rank); p != nullptr) return p->last_heard;
    return known(rank) ? entries_[rank].resting.last_heard_s * kSecond : 0;
}

PeerTable::Bytes PeerTable::bytes() const noexcept {
    Bytes b;
    b.resting = entries_.capacity() * sizeof(Entry) + ranks_.bytes();
    for (std::uint32_t i = 0; i < pool_.capacity(); ++i) {
        const Peer& p = pool_[i];
        b.active += sizeof(Peer) + p.tx_seq.capacity() * sizeof(std::uint16_t) +
                    p.rx_paths.capacity() * sizeof(PathTracker) + p.pending.bytes() + p.paths.bytes() +
                    p.begun.capacity() * sizeof(std::uint32_t);
        if (p.ecn != nullptr) b.ecn += p.ecn->bytes();
    }
    constexpr std::size_t kNode = 32;
    for (const auto& [subnet, paths] : subnet_paths_) b.active += kNode + sizeof paths + paths.bytes();
    for (const auto& [rank, ecn] : resting_ecn_) b.ecn += kNode + ecn->bytes();
    return b;
}

}  // namespace csaud
