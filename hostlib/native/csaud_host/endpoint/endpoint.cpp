#include "csaud_host/endpoint/endpoint.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "csaud_host/endpoint/endpoint_impl.hpp"
#include "csaud_host/parity/galois.hpp"

namespace csaud {

const char* to_string(Status s) noexcept {
    switch (s) {
        case Status::ok:
            return "ok";
        case Status::peer_unreachable:
            return "peer_unreachable";
        case Status::aborted:
            return "aborted";
        case Status::protocol:
            return "protocol";
    }
    return "unknown";
}

namespace {

constexpr Nanos kLongestRefresh = 3600 * kSecond;
constexpr Nanos kLongest = 365 * 24 * 3600 * kSecond;  // so that sums with any clock hold

void require(bool holds, const char* setting, const std::string& need) {
    if (!holds) throw std::invalid_argument(std::string(setting) + ": " + need);
}

void check_times(const EndpointConfig& c) {
    struct Time {
        const char* setting;
        Nanos value;
        Nanos least;
    };
    const Time times[] = {{"fixed_interval", c.fixed_interval, 0},
                          {"rtt_initial", c.rtt_initial, 1},
                          {"timer_tick", c.timer_tick, 1},
                          {"queue_max", c.queue_max, 1},
                          {"stall_tolerance", c.stall_tolerance, 0},
                          {"dead_after", c.dead_after, 8},
                          {"abort_spacing", c.abort_spacing, 0},
                          {"linger", c.linger, 0},
                          {"peer_rest", c.peer_rest, 1}};
    for (const auto& [setting, value, least] : times)
        require(value >= least && value <= kLongest, setting,
                "at least " + std::to_string(least) + " ns, a year at most");
    require(c.rtt_refresh > 0 && c.rtt_refresh <= kLongestRefresh, "rtt_refresh", "above 0, an hour at most");
}

void check(const EndpointConfig& c) {
    check_times(c);
    require(c.world >= 1, "world", "at least 1");
    require(c.rank < c.world, "rank", "below world (" + std::to_string(c.world) + ")");
    require(c.local.qpn > 1 && c.local.qpn < (1U << 24), "local.qpn", "24 bits, not 0 or 1");
    require((c.qkey >> 31) == 0, "qkey", "31 bits");
    require(c.path_mtu > wire::kCsaBytes + c.auth.bytes() && c.path_mtu <= 8192, "path_mtu",
            "33 to 8192 bytes, 41 of authenticated packets");
    require(c.paths >= 1, "paths", "at least 1");
    require((c.tos & 3) == 0, "tos", "a DSCP, with two low bits of zero");
    require(c.spray <= 8, "spray", "0 to 8");
    require(c.window >= 1 && c.window <= 8192, "window", "1 to 8192 packets");
    require(c.shared_window >= 1, "shared_window", "at least 1 packet");
    require(c.early_pool_packets >= 1, "early_pool_packets", "at least 1");
    require(c.rate_bps >= 1, "rate_bps", "at least 1 bit/s");
    require(c.tx_ts_unit_ns >= 1, "tx_ts_unit_ns", "at least 1 ns");
    require(c.roce_port != c.loss_port, "loss_port", "another port than roce_port");
    require(c.bits.path_seq >= 3 && c.bits.path_seq <= 16, "bits.path_seq", "3 to 16");
    require(c.bits.tx_ts >= 8 && c.bits.tx_ts <= 32, "bits.tx_ts", "8 to 32");
    require(c.bits.credit >= 3 && c.bits.credit <= 32, "bits.credit", "3 to 32");
    require(c.bits.ecn >= 3 && c.bits.ecn <= 16, "bits.ecn", "3 to 16");
    require(2 * std::uint64_t{c.window} < (std::uint64_t{1} << (c.bits.credit - 1)), "bits.credit",
            "room for four windows");
    require(c.parity_rows <= kMostParityRows, "parity_rows", "0 to 8");
    require(c.dead_probes >= 1, "dead_probes", "at least 1");
    require(c.abort_repeats >= 1, "abort_repeats", "at least 1");
}

const EndpointConfig& checked(const EndpointConfig& c) {
    check(c);
    return c;
}

}  // namespace

Endpoint::Endpoint(const EndpointConfig& c) : impl_(std::make_unique<EndpointImpl>(checked(c))) {}
Endpoint::~Endpoint() = default;
Endpoint::Endpoint(Endpoint&&) noexcept = default;
Endpoint& Endpoint::operator=(Endpoint&&) noexcept = default;

void Endpoint::set_peer(std::uint16_t rank, std::uint32_t ipv4, std::uint32_t qpn) {
    const EndpointConfig& c = config();
    if (rank >= c.world || rank == c.rank) throw std::invalid_argument("set_peer: not the rank of a peer");
    if (qpn <= 1 || qpn >= (1U << 24))
        throw std::invalid_argument("set_peer: a queue pair number has 24 bits");
    impl_->set_peer(rank, ipv4, qpn);
}

std::uint64_t Endpoint::post_send(const MessageName& name, std::uint16_t dst,
                                  std::span<const std::byte> buffer, const Hints& hints, Nanos now) {
    return impl_->post_send(name, dst, buffer, hints, now);
}

std::uint64_t Endpoint::post_recv(const MessageName& name, std::uint16_t src, std::span<std::byte> buffer,
                                  const Hints& hints, Nanos now) {
    return impl_->post_recv(name, src, buffer, hints, now);
}

void Endpoint::on_packet(std::span<const std::byte> packet, Nanos now) {
    impl_->on_packet(packet, now);
}
bool Endpoint::on_batch(std::size_t packets) {
    return impl_->on_batch(packets);
}
void Endpoint::foresee(std::span<const std::span<const std::byte>> packets, std::size_t i) {
    impl_->foresee(packets, i);
}
bool Endpoint::next_tx(TxPacket& out, Nanos now) {
    return impl_->transmitter.next(out, now);
}
void Endpoint::sent(Nanos now) {
    impl_->sender.handed_over(now);
}
void Endpoint::on_timer(Nanos now) {
    impl_->on_timer(now);
}
Nanos Endpoint::next_deadline() const {
    return impl_->next_deadline();
}
bool Endpoint::next_completion(Completion& c) {
    return impl_->next_completion(c);
}
void Endpoint::deny_path(std::uint16_t path, bool denied) {
    if (path >= config().paths) throw std::invalid_argument("deny_path: not one of the paths");
    impl_->ctx.peers.deny(path, denied);
}
PathState Endpoint::path_state(std::uint16_t rank, std::uint16_t path) const {
    return impl_->ctx.peers.path_state(rank, path);
}
void Endpoint::abort(Nanos now, std::string_view note) {
    if (!aborted()) impl_->ctx.abort_note = note.substr(0, wire::kMaxNoteBytes);
    impl_->end.fail(Status::aborted, config().rank, true, now);
}
void Endpoint::tell(std::uint16_t rank, std::string_view note) {
    Context& ctx = impl_->ctx;
    if (!ctx.peers.known(rank)) throw std::invalid_argument("tell: the rank has no address");
    if (aborted()) return;
    ctx.notes_to[rank] = note.substr(0, wire::kMaxNoteBytes);
    ControlItem item;
    item.type = wire::Type::probe;
    item.reason = wire::Reason::ping;
    item.name.epoch = ctx.config.epoch;
    item.name.src_rank = ctx.config.rank;
    item.peer = rank;
    item.noted = true;
    ctx.control.push(item);
}
std::map<std::uint16_t, std::string> Endpoint::take_notes() {
    return std::exchange(impl_->ctx.notes_from, {});
}
bool Endpoint::aborted() const {
    return impl_->end.come();
}
const std::string& Endpoint::abort_note() const {
    return impl_->ctx.abort_note;
}
bool Endpoint::quiescent(Nanos now) const {
    return impl_->quiescent(now);
}

Nanos Endpoint::last_contact(std::uint16_t rank) const {
    return impl_->ctx.peers.last_heard(rank);
}

std::vector<PendingMessage> Endpoint::pending() const {
    std::vector<PendingMessage> all;
    impl_->receiver.list(all);
    impl_->sender.list(all);
    return all;
}

const Stats& Endpoint::stats() const {
    return impl_->ctx.stats;
}
MemoryUse Endpoint::memory() const {
    MemoryUse use;
    const PeerTable::Bytes peers = impl_->ctx.peers.bytes();
    use.peers = peers.resting;
    use.active_peers = peers.active;
    use.ecn = peers.ecn;
    use.timers = impl_->ctx.timers.bytes();
    impl_->sender.report(use);
    impl_->receiver.report(use);
    return use;
}
const EndpointConfig& Endpoint::config() const {
    return impl_->ctx.config;
}
std::size_t Endpoint::payload_per_packet() const {
    return impl_->ctx.payload_bytes;
}
std::size_t Endpoint::max_message_bytes() const {
    return payload_per_packet() * kMaxPackets;
}

}  // namespace csaud
