#include "virtual_network.hpp"

#include <algorithm>
#include <stdexcept>

namespace csaud::testing {
namespace {

constexpr std::uint32_t kFirstAddress = 0x0a000001;
constexpr std::uint32_t kFirstQpn = 256;
constexpr std::size_t kEthernetBytes = 14;
constexpr std::size_t kTypeAt = wire::kHeaderBytes - wire::kCsaBytes + 2;

bool is_data(const std::vector<std::byte>& packet) noexcept {
    return packet[kTypeAt] == static_cast<std::byte>(wire::Type::data);
}

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
    uplinks_.resize(std::size_t{link.tiers.leaves} * link.tiers.spines);
    downlinks_.resize(uplinks_.size());
    tag_bytes_ = base.auth.bytes();
    full_data_bytes_ = wire::kHeaderBytes - wire::kCsaBytes + base.path_mtu + wire::kIcrcBytes;
    if (link.rate_bps != 0) {
        const std::size_t bytes = link.data_bytes != 0 ? link.data_bytes : full_data_bytes_ + kEthernetBytes;
        data_time_ = static_cast<Nanos>(bytes * 8 * static_cast<std::uint64_t>(kSecond) / link.rate_bps);
    }
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
    events_.push({at, next_order_++, kind, rank, 0, 0, std::move(packet)});
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

void VirtualNetwork::serve(std::uint16_t rank, std::size_t posted) {
    unfinished_ += posted;
    if (posted != 0) service(rank);
}

// What a rank does when it has been given something: send all it may, take completions, set its timer.
void VirtualNetwork::service(std::uint16_t rank) {
    Rank& r = ranks_[rank];
    if (r.stopped || r.dead) return;
    if (r.endpoint->next_deadline() <= now_) r.endpoint->on_timer(now_);
    TxPacket packet;
    bool sent = false;
    while (nic_has_room(r) && r.endpoint->next_tx(packet, now_)) {
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
        if (on_completion_) {
            on_completion_(rank, c);
        } else {
            r.completions.push_back(c);
        }
    }
    Nanos due = r.endpoint->next_deadline();
    if (!nic_has_room(r)) due = std::min(due, r.egress_free - (link_.nic_queue - 1) * data_time_);
    if (due < r.timer_at) {
        r.timer_at = std::max(due, now_);
        schedule(r.timer_at, Event::Kind::timer, rank);
    }
}

Nanos VirtualNetwork::time_of(const Bytes& packet, std::uint64_t rate_bps) const noexcept {
    if (rate_bps == 0) return 0;
    const bool full = link_.data_bytes != 0 && packet.size() == full_data_bytes_;
    const std::size_t bytes = full ? link_.data_bytes : packet.size() + kEthernetBytes;
    return static_cast<Nanos>(bytes * 8 * static_cast<std::uint64_t>(kSecond) / rate_bps);
}

bool VirtualNetwork::nic_has_room(const Rank& r) const noexcept {
    return link_.nic_queue == 0 || r.egress_free <= now_ + (link_.nic_queue - 1) * data_time_;
}

bool VirtualNetwork::burst_takes(Rank& r, std::uint16_t path) {
    if (r.losing.empty()) r.losing.assign(r.endpoint->config().paths, false);
    const double p = chance_.drop_data;
    const double leave = 1 / chance_.burst;
    const double turn = r.losing[path] ? 1 - leave : leave * p / (1 - p);
    return r.losing[path] = random_.chance(turn);
}

Verdict VirtualNetwork::decide(const PacketView& view) {
    if (hook_) {
        const Verdict v = hook_(view);
        if (v.fate != Fate::deliver || v.delay != 0 || v.duplicate) return v;
    }
    Verdict v;
    const bool data = view.csa.type == wire::Type::data;
    const bool dropped = chance_.burst > 1 ? burst_takes(ranks_[view.src], view.csa.path_id)
                                           : random_.chance(data ? chance_.drop_data : chance_.drop_control);
    if (dropped) {
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
    } else if (type == wire::Type::loss) {
        ++counts_.loss_dropped;
    } else {
        ++counts_.control_dropped;
    }
}

// A copy is lost once, whatever befell it before.
void VirtualNetwork::forget_damage(const Bytes& packet) {
    counts_.data_corrupted -= damaged_.erase(&packet);
}

void VirtualNetwork::lose(const wire::Decoded& d, const Bytes& packet, Nanos at) {
    forget_damage(packet);
    count_lost(d.csa.type);
    if (link_.oracle == 0 || d.csa.type != wire::Type::data) return;
    const std::uint16_t src = d.csa.name.src_rank;
    ++in_flight_;
    schedule(at + link_.oracle, Event::Kind::deliver, src,
             std::make_shared<Bytes>(bounced(packet, ranks_[src].endpoint->config().loss_port)));
}

void VirtualNetwork::transmit(std::uint16_t src, const TxPacket& tx) {
    auto packet = std::make_shared<Bytes>(tx.head.begin(), tx.head.begin() + tx.head_len);
    packet->insert(packet->end(), tx.payload.begin(), tx.payload.end());
    packet->insert(packet->end(), tx.tail.begin(), tx.tail.begin() + tx.tail_len);
    const wire::Decoded d = decoded(*packet, tag_bytes_);
    Rank& r = ranks_[src];
    if (keep_packets_) r.last_packets[static_cast<int>(d.csa.type)] = *packet;
    const auto dst = static_cast<std::uint16_t>(tx.dst_ipv4 - kFirstAddress);
    const Verdict v = decide({src, dst, next_number_++, now_, d.csa, d.control});
    r.egress_free = std::max(r.egress_free, now_) + time_of(*packet);
    const bool data = d.csa.type == wire::Type::data;
    if (v.duplicate && v.fate == Fate::deliver) {
        ++(data ? counts_.data_duplicated : counts_.control_duplicated);
        launch(src, dst, d.csa.path_id, packet, v.delay + v.duplicate_delay);
    }
    switch (v.fate) {
        case Fate::deliver:
            break;
        case Fate::drop:
            return lose(d, *packet, r.egress_free);
        case Fate::trim:
            if (!data || (d.csa.flags & wire::kNoTrim) != 0) break;
            packet = cut(src, dst, *packet);
            if (packet == nullptr) return;
            break;
        case Fate::mark:
            if (data) mark(*packet);
            break;
        case Fate::corrupt:
            ++(data ? counts_.data_corrupted : counts_.control_dropped);
            packet = std::make_shared<Bytes>(*packet);  // a duplicate keeps the good one
            packet->back() ^= std::byte{0x10};
            if (data) damaged_.insert(packet.get());
            break;
    }
    launch(src, dst, d.csa.path_id, packet, v.delay);
}

std::shared_ptr<VirtualNetwork::Bytes> VirtualNetwork::cut(std::uint16_t src, std::uint16_t dst,
                                                           const Bytes& packet) {
    const std::uint16_t port = ranks_[src].endpoint->config().loss_port;
    forget_damage(packet);
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
    Nanos at = std::max(r.egress_free, now_) + hop_latency() + path * link_.path_skew + extra;
    if (link_.jitter > 0)
        at += static_cast<Nanos>(random_.below(static_cast<std::uint64_t>(link_.jitter) + 1));
    if (link_.fifo_paths && extra == 0) {
        Nanos& last = r.path_last[(std::uint32_t{dst} << 16) | path];
        at = last = std::max(at, last);
    }
    ++in_flight_;
    const TierModel& tiers = link_.tiers;
    if (tiers.leaves == 0 || leaf_of(src) == leaf_of(dst)) {
        return schedule(at, link_.rate_bps == 0 ? Event::Kind::deliver : Event::Kind::arrive, dst,
                        std::move(packet));
    }
    const std::uint64_t choice = tiers.random_spray ? random_.next() : path;
    events_.push({at, next_order_++, Event::Kind::uplink, dst, leaf_of(src),
                  static_cast<std::uint16_t>(choice % tiers.spines), std::move(packet)});
}

bool VirtualNetwork::admit(std::uint32_t waiting, std::shared_ptr<Bytes>& packet, std::uint16_t dst) {
    if (!is_data(*packet)) return true;
    counts_.deepest_queue = std::max<std::uint64_t>(counts_.deepest_queue, waiting);
    if (link_.drop_at != 0 && waiting >= link_.drop_at) {
        ++counts_.queue_dropped;
        lose(decoded(*packet, tag_bytes_), *packet, now_);
        return false;
    }
    if (link_.mark_at != 0 && waiting >= link_.mark_at) mark(*packet);
    if (link_.trim_at == 0 || waiting < link_.trim_at) return true;
    if (const wire::Decoded d = decoded(*packet, tag_bytes_); (d.csa.flags & wire::kNoTrim) == 0) {
        const auto src = static_cast<std::uint16_t>(d.route.src_ipv4 - kFirstAddress);
        packet = cut(src, dst, *packet);
        return packet != nullptr;
    }
    return true;
}

// At the queue of a link between leaf and spine: as at that of the receiver's link.
void VirtualNetwork::pass_tier(const Event& e) {
    const TierModel& tiers = link_.tiers;
    const bool up = e.kind == Event::Kind::uplink;
    const std::size_t leaf = up ? e.leaf : leaf_of(e.rank);
    TierQueue& queue = (up ? uplinks_ : downlinks_)[leaf * tiers.spines + e.spine];
    std::uint64_t rate = tiers.rate_bps != 0 ? tiers.rate_bps : link_.rate_bps;
    if (e.spine == 0 && tiers.slow_spine != 0) rate /= tiers.slow_spine;
    const Nanos full = data_time_ * static_cast<Nanos>(link_.rate_bps) / static_cast<Nanos>(rate);
    const Nanos busy = std::max<Nanos>(0, queue.data_free - now_);
    auto packet = e.packet;
    if (!admit(static_cast<std::uint32_t>(full == 0 ? 0 : busy / full), packet, e.rank)) {
        --in_flight_;
        return;
    }
    const Nanos time = time_of(*packet, rate);
    const bool data = is_data(*packet);
    Nanos& free = data ? queue.data_free : queue.control_free;
    const Nanos done = free = std::max(free, now_) + time;
    if (!data) queue.data_free = std::max(queue.data_free, now_) + time;
    events_.push({done + hop_latency(), next_order_++, up ? Event::Kind::downlink : Event::Kind::arrive,
                  e.rank, e.leaf, e.spine, std::move(packet)});
}

// At the queue of the receiver's link: control and LOSS go first, DATA beyond the limits is trimmed or
// dropped.
void VirtualNetwork::arrive(std::uint16_t dst, std::shared_ptr<Bytes> packet) {
    Rank& r = ranks_[dst];
    if (!admit(static_cast<std::uint32_t>(r.waiting_data.size()), packet, dst)) {
        --in_flight_;
        return;
    }
    const bool data = is_data(*packet);
    (data ? r.waiting_data : r.waiting_control).push_back(std::move(packet));
    if (!r.link_busy) start_link(dst);
}

void VirtualNetwork::start_link(std::uint16_t dst) {
    Rank& r = ranks_[dst];
    auto& queue = r.waiting_control.empty() ? r.waiting_data : r.waiting_control;
    r.link_busy = !queue.empty();
    if (!r.link_busy) return;
    const Nanos done = now_ + time_of(*queue.front());
    schedule(done, Event::Kind::deliver, dst, std::move(queue.front()));
    queue.pop_front();
    schedule(done, Event::Kind::link_free, dst);
}

void VirtualNetwork::deliver(std::uint16_t dst, const std::shared_ptr<Bytes>& packet) {
    Rank& r = ranks_[dst];
    --in_flight_;
    damaged_.erase(packet.get());
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
        case Event::Kind::uplink:
        case Event::Kind::downlink:
            return pass_tier(e);
        case Event::Kind::arrive:
            return arrive(e.rank, e.packet);
        case Event::Kind::deliver:
            return deliver(e.rank, e.packet);
        case Event::Kind::link_free:
            return start_link(e.rank);
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
