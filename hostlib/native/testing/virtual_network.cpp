#include "virtual_network.hpp"

#include <algorithm>
#include <stdexcept>

namespace csaud::testing {
namespace {

constexpr std::uint32_t kFirstAddress = 0x0a000001;
constexpr std::uint32_t kFirstQpn = 256;
constexpr std::size_t kEthernetBytes = 14;

wire::Decoded decoded(std::span<const std::byte> packet, std::size_t tag_bytes) {
    wire::Decoded d;
    if (wire::decode_any(packet, d, tag_bytes) != wire::Fault::none)
        throw std::logic_error("an endpoint sent what it cannot read");
    return d;
}

}  // namespace

VirtualNetwork::VirtualNetwork(std::uint16_t world, const EndpointConfig& base, const LinkModel& link,
                               const Chance& chance)
    : link_(link), chance_(chance), random_(chance.seed), ranks_(world) {
    tag_bytes_ = base.auth.bytes();
    for (std::uint16_t r = 0; r < world; ++r) make_endpoint(r, base);
}

void VirtualNetwork::make_endpoint(std::uint16_t rank, EndpointConfig config) {
    config.rank = rank;
    config.world = world();
    config.local = {kFirstAddress + rank, kFirstQpn + rank};
    auto endpoint = std::make_unique<Endpoint>(config);
    for (std::uint16_t p = 0; p < world(); ++p) {
        if (p != rank) endpoint->set_peer(p, kFirstAddress + p, kFirstQpn + p);
    }
    ranks_[rank].endpoint = std::move(endpoint);
}

void VirtualNetwork::set_chance(const Chance& chance) {
    chance_ = chance;
    random_ = SplitMix(chance.seed);
}

void VirtualNetwork::schedule(Nanos at, Event::Kind kind, std::uint16_t rank, std::shared_ptr<Bytes> packet) {
    events_.push({at, next_order_++, kind, rank, std::move(packet)});
}

std::uint64_t VirtualNetwork::post_send(std::uint16_t rank, std::uint16_t dst, MessageName name,
                                        std::vector<std::byte> data, const Hints& hints) {
    Rank& r = ranks_.at(rank);
    name.src_rank = rank;
    name.epoch = r.endpoint->config().epoch;
    // A moved vector keeps its memory, so the span stays right.
    const std::uint64_t id = r.endpoint->post_send(name, dst, data, hints, now_);
    r.buffers.emplace(id, std::move(data));
    ++unfinished_;
    service(rank);
    return id;
}

std::uint64_t VirtualNetwork::post_recv(std::uint16_t rank, std::uint16_t src, MessageName name,
                                        std::size_t bytes, const Hints& hints) {
    Rank& r = ranks_.at(rank);
    name.src_rank = src;
    name.epoch = r.endpoint->config().epoch;
    Bytes buffer(bytes, std::byte{0xEE});
    const std::uint64_t id = r.endpoint->post_recv(name, src, buffer, hints, now_);
    r.buffers.emplace(id, std::move(buffer));
    ++unfinished_;
    service(rank);
    return id;
}

// What a rank does when it has been given something: send all it may, take completions, set its timer.
void VirtualNetwork::service(std::uint16_t rank) {
    Rank& r = ranks_[rank];
    if (r.stopped || r.dead) return;
    if (r.endpoint->next_deadline() <= now_) r.endpoint->on_timer(now_);
    TxPacket packet;
    bool sent = false;
    while (r.endpoint->next_tx(packet, now_)) {
        if (!sent && r.hold_up != 0) r.egress_free = std::max(r.egress_free, now_ + r.hold_up);
        transmit(rank, packet);
        sent = true;
    }
    if (sent && r.hold_up != 0) {
        r.stopped = true;
        schedule(now_ + r.hold_up, Event::Kind::wake, rank);
        r.hold_up = 0;
    } else if (sent) {
        r.endpoint->sent(now_);
    }
    Completion c;
    while (r.endpoint->next_completion(c)) {
        --unfinished_;
        r.completions.push_back(c);
    }
    const Nanos due = r.endpoint->next_deadline();
    if (due < r.timer_at) {
        r.timer_at = std::max(due, now_);
        schedule(r.timer_at, Event::Kind::timer, rank);
    }
}

Nanos VirtualNetwork::time_of(const Bytes& packet) const noexcept {
    if (link_.rate_bps == 0) return 0;
    const std::size_t bytes = packet.size() + kEthernetBytes;
    return static_cast<Nanos>(bytes * 8 * static_cast<std::uint64_t>(kSecond) / link_.rate_bps);
}

Verdict VirtualNetwork::decide(const PacketView& view) {
    if (hook_) {
        const Verdict v = hook_(view);
        if (v.fate != Fate::deliver || v.delay != 0 || v.duplicate) return v;
    }
    Verdict v;
    const bool data = view.csa.type == wire::Type::data;
    const bool parity = view.csa.type == wire::Type::parity;
    if (random_.chance(data || parity ? chance_.drop_data : chance_.drop_control)) {
        v.fate = Fate::drop;
    } else if (data && random_.chance(chance_.trim)) {
        v.fate = Fate::trim;
    } else if (data && random_.chance(chance_.mark)) {
        v.fate = Fate::mark;
    }
    if (random_.chance(chance_.late))
        v.delay = static_cast<Nanos>(random_.below(static_cast<std::uint64_t>(chance_.late_by) + 1));
    if (random_.chance(chance_.duplicate)) {
        v.duplicate = true;
        v.duplicate_delay =
            static_cast<Nanos>(random_.below(static_cast<std::uint64_t>(chance_.late_by) + 1));
    }
    return v;
}

void VirtualNetwork::count_lost(wire::Type type) {
    if (type == wire::Type::data) {
        ++counts_.data_dropped;
    } else if (type == wire::Type::parity) {
        ++counts_.parity_dropped;
    } else if (type == wire::Type::loss) {
        ++counts_.loss_dropped;
    } else {
        ++counts_.control_dropped;
    }
}

void VirtualNetwork::transmit(std::uint16_t src, const TxPacket& tx) {
    auto packet = std::make_shared<Bytes>(tx.head.begin(), tx.head.begin() + tx.head_len);
    packet->insert(packet->end(), tx.payload.begin(), tx.payload.end());
    packet->insert(packet->end(), tx.tail.begin(), tx.tail.begin() + tx.tail_len);
    wire::Decoded d = decoded(*packet, tag_bytes_);
    Rank& r = ranks_[src];
    d.csa.path_id %= r.endpoint->config().paths;  // of each rank its path 0 is the same here
    r.last_packets[static_cast<int>(d.csa.type)] = *packet;
    const auto dst = static_cast<std::uint16_t>(tx.dst_ipv4 - kFirstAddress);
    const Verdict v = decide({src, dst, next_number_++, now_, d.csa, d.control});
    r.egress_free = std::max(r.egress_free, now_) + time_of(*packet);
    const bool data = d.csa.type == wire::Type::data;
    const bool parity = d.csa.type == wire::Type::parity;
    if (v.duplicate && v.fate == Fate::deliver) {
        ++(data ? counts_.data_duplicated : parity ? counts_.parity_duplicated : counts_.control_duplicated);
        launch(src, dst, d.csa.path_id, packet, v.delay + v.duplicate_delay);
    }
    switch (v.fate) {
        case Fate::deliver:
            break;
        case Fate::drop:
            return count_lost(d.csa.type);
        case Fate::trim:
            if (!data || (d.csa.flags & wire::kNoTrim) != 0) break;
            packet = cut(src, dst, *packet);
            if (packet == nullptr) return;
            break;
        case Fate::mark:
            if (data) mark(*packet);
            break;
        case Fate::corrupt:
            ++(data ? counts_.data_corrupted : parity ? counts_.parity_dropped : counts_.control_dropped);
            packet = std::make_shared<Bytes>(*packet);  // a duplicate keeps the good one
            packet->back() ^= std::byte{0x10};
            break;
    }
    launch(src, dst, d.csa.path_id, packet, v.delay);
}

std::shared_ptr<VirtualNetwork::Bytes> VirtualNetwork::cut(std::uint16_t src, std::uint16_t dst,
                                                           const Bytes& packet) {
    const std::uint16_t port = ranks_[src].endpoint->config().loss_port;
    ++counts_.data_cut;
    if (link_.signal.bounce) {
        ++counts_.data_bounced;
        launch(dst, src, 0, std::make_shared<Bytes>(bounced(packet, port, link_.signal)), 0);
    }
    if (!link_.signal.trim) return nullptr;
    ++counts_.data_trimmed;
    return std::make_shared<Bytes>(trimmed(packet, port, link_.signal));
}

void VirtualNetwork::mark(Bytes& packet) {
    const unsigned tos = std::to_integer<unsigned>(packet[1]);
    if ((tos & 3) == 0 || (tos & 3) == wire::kCongestionExperienced) return;
    packet[1] = static_cast<std::byte>(tos | wire::kCongestionExperienced);
    ++counts_.data_marked;
}

void VirtualNetwork::launch(std::uint16_t src, std::uint16_t dst, std::uint16_t path,
                            std::shared_ptr<Bytes> packet, Nanos extra) {
    Rank& r = ranks_[src];
    Nanos at = std::max(r.egress_free, now_) + link_.latency + path * link_.path_skew + extra;
    if (link_.jitter > 0)
        at += static_cast<Nanos>(random_.below(static_cast<std::uint64_t>(link_.jitter) + 1));
    if (link_.fifo_paths && extra == 0) {
        Nanos& last = r.path_last[(std::uint32_t{dst} << 16) | path];
        at = last = std::max(at, last);
    }
    ++in_flight_;
    schedule(at, Event::Kind::deliver, dst, std::move(packet));
}

void VirtualNetwork::deliver(std::uint16_t dst, const std::shared_ptr<Bytes>& packet) {
    Rank& r = ranks_[dst];
    --in_flight_;
    if (r.dead) return;
    if (r.stopped) {
        r.inbox.push_back(packet);
        return;
    }
    r.endpoint->on_packet(*packet, now_);
    service(dst);
}

void VirtualNetwork::step() {
    const Event e = events_.top();
    events_.pop();
    now_ = e.at;
    switch (e.kind) {
        case Event::Kind::deliver:
            return deliver(e.rank, e.packet);
        case Event::Kind::wake:
            ranks_[e.rank].endpoint->sent(now_);
            return resume(e.rank);
        case Event::Kind::timer:
            if (ranks_[e.rank].timer_at != e.at) return;  // an earlier one has taken its place
            ranks_[e.rank].timer_at = kNever;
            return service(e.rank);
    }
}

void VirtualNetwork::run_until(Nanos until) {
    while (!events_.empty() && events_.top().at <= until) step();
    now_ = std::max(now_, until);
}

bool VirtualNetwork::settle(Nanos limit) {
    const auto quiet = [this] {
        return unfinished_ == 0 && in_flight_ == 0 &&
               std::all_of(ranks_.begin(), ranks_.end(), [this](const Rank& r) {
                   return r.dead || (!r.stopped && r.endpoint->quiescent(now_));
               });
    };
    // Quiet is asked for at most once a millisecond of virtual time.
    while (now_ < limit) {
        if (unfinished_ == 0 && in_flight_ == 0 && quiet()) return true;
        const Nanos slice = std::min(limit, now_ + kMillisecond);
        const Nanos next = events_.empty() ? limit : events_.top().at;
        run_until(unfinished_ == 0 ? slice : std::clamp(next, slice, limit));
    }
    return quiet();
}

}  // namespace csaud::testing
