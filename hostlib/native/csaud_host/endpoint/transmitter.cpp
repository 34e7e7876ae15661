#include "csaud_host/endpoint/transmitter.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace csaud {
namespace {
// Control packets sent late by at most this much of pace may be caught up in a burst.
constexpr Nanos kBurst = 100 * kMicrosecond;

// What must not be cut again: control, what is urgent, and what was lost twice.
constexpr std::uint8_t kLastUrgentClass = 2;
constexpr std::uint8_t kStubborn = 2;  // attempts

std::uint8_t trimming(std::uint8_t cls, std::uint8_t attempt) noexcept {
    return static_cast<std::uint8_t>(cls <= kLastUrgentClass || attempt >= kStubborn ? wire::kNoTrim : 0);
}
}  // namespace

// Ranks begin at different numbers, so that switches whose uplinks are no divisor of the paths, or more than
// these, get from all ranks together the same share on each uplink where path_id names it.
std::uint16_t Transmitter::path_id(std::uint16_t path) const noexcept {
    return static_cast<std::uint16_t>(ctx_.config.rank * ctx_.config.paths + path);
}

wire::Route Transmitter::route(TxPacket& out, std::uint16_t dst, std::uint16_t path,
                               std::uint8_t ecn) noexcept {
    const EndpointConfig& c = ctx_.config;
    const PeerTable::Address& to = ctx_.peers.address(dst);
    out.dst_ipv4 = to.ipv4;
    out.dst_qpn = to.qpn;
    out.dst_rank = dst;
    out.path = path;
    psn_ = (psn_ + 1) & 0xFF'FFFF;
    wire::Route r;
    r.src_ipv4 = c.local.ipv4;
    r.dst_ipv4 = to.ipv4;
    r.src_qpn = c.local.qpn;
    r.dst_qpn = to.qpn;
    r.qkey = c.qkey;
    r.src_port = c.udp_source_port != 0 ? c.udp_source_port : wire::source_port(path_id(path));
    r.dst_port = c.roce_port;
    r.ip_id = c.zero_ip_id ? std::uint16_t{0} : wire::ip_id(psn_);
    r.tos = c.tos | ecn;
    r.ttl = c.ttl;
    r.psn = psn_;
    return r;
}

void Transmitter::seal(TxPacket& out, std::size_t pad) noexcept {
    const EndpointConfig& c = ctx_.config;
    const std::size_t end = c.auth.bytes() + pad;  // of what the iCRC covers
    out.tail_len = static_cast<std::uint8_t>(end + wire::kIcrcBytes);
    std::memset(out.tail.data(), 0, out.tail_len);
    if (c.auth.on()) {
        const auto headers = std::span(out.head).first(out.head_len).subspan(wire::kCsaOffset);
        const auto tag = tag_of(c.auth, {c.local.ipv4, out.dst_ipv4, c.local.qpn, out.dst_qpn}, headers,
                                out.payload.size());
        std::memcpy(out.tail.data(), tag.data(), tag.size());
    }
    if (c.make_icrc) {
        const auto crc =
            wire::icrc(std::span(out.head).first(out.head_len), out.payload, std::span(out.tail).first(end));
        std::memcpy(out.tail.data() + end, crc.data(), crc.size());
    }
    ctx_.stats.tx_bytes += out.size();
}

void Transmitter::build_data(const Copy& copy, TxPacket& out, Nanos) {
    const SendMessage& m = *copy.message;
    const EndpointConfig& c = ctx_.config;
    const bool parity = copy.covered != 0;
    wire::CsaHeader h;
    h.type = parity ? wire::Type::parity : wire::Type::data;
    if (!parity)
        h.flags = static_cast<std::uint8_t>(
            (copy.record.attempt != 0 ? wire::kRtx : 0) | (copy.pkt_idx + 1 == m.total ? wire::kLast : 0) |
            (m.barrier ? wire::kBarrier : 0) | (copy.asks ? wire::kAckReq : 0) |
            trimming(copy.cls, copy.record.attempt));
    h.spray = c.spray;
    h.cls = copy.cls;
    h.ordered = c.ordered;
    h.attempt = parity ? copy.covered : copy.record.attempt;
    h.name = m.name;
    h.pkt_idx = copy.pkt_idx;
    h.pkt_total = m.total;
    h.path_id = path_id(copy.record.path);
    h.path_seq = copy.record.path_seq;
    h.tx_ts = copy.record.tx_ts;
    out.payload = parity ? copy.parity : m.payload(copy.pkt_idx, ctx_.payload_bytes);
    const std::size_t pad = wire::encode_headers(
        out.head, route(out, m.dst, copy.record.path, c.ecn && !parity ? wire::kEct0 : std::uint8_t{0}), h,
        out.payload.size() + c.auth.bytes());
    out.head_len = wire::kHeaderBytes;
    ctx_.stats.tx_inside_data += out.dst_ipv4 == c.local.ipv4;
    seal(out, pad);
}

// False: what it would have said is void by now.
bool Transmitter::build_control(const ControlItem& item, TxPacket& out, Nanos now) {
    Peer& peer = ctx_.peers.get(item.peer);
    wire::CsaHeader h;
    h.type = item.type;
    h.spray = ctx_.config.spray;
    h.cls = 0;
    h.flags = trimming(h.cls, 0);
    h.attempt = item.attempt;
    h.name = item.name;
    h.pkt_idx = item.pkt_idx;
    h.pkt_total = item.pkt_total;
    const std::uint16_t path = item.via != kAnyPath ? item.via : peer.paths.next_control();
    h.path_id = path_id(path);
    h.tx_ts = ctx_.ticks(now);

    wire::ControlPart c;
    c.reason = item.reason;
    c.flags = item.flags;
    c.newest_tx_ts = item.newest_ts;
    c.echoed_path = item.path;
    c.gap = item.gap;
    c.from_rank = ctx_.config.rank;
    c.cumulative = item.cumulative;
    const Reassembly* arrived = nullptr;
    if (item.type == wire::Type::state) {
        const Receiver::View view = receiver_.view(item.name);
        if (view.finished && item.reason == wire::Reason::loss) return false;
        if (view.finished && item.reason != wire::Reason::gap) {
            h.type = wire::Type::ack;
            c.reason = wire::Reason::done;
        }
        if (view.awaited) c.flags |= wire::kAwaited;
        arrived = view.reassembly;
    }
    if (item.type == wire::Type::credit && peer.echo_ts != 0) {
        c.flags = wire::kSeen | wire::kEcho;
        c.newest_tx_ts = peer.echo_ts;
    }
    if (peer.ecn != nullptr) {
        const bool of_path = item.reason == wire::Reason::gap || (item.flags & wire::kOfPath) != 0;
        EcnMarks& marks = peer.ecn->from;
        if (const EcnReport m =
                of_path ? marks.tell(ctx_.ecn_serial, item.path) : marks.tell(ctx_.ecn_serial);
            m.any) {
            h.flags |= wire::kEcnEcho;
            c.echoed_path = m.path;
            c.ecn_count = m.count;
        }
    }
    c.credit = peer.grant.tell(ctx_.credit_serial);
    if (item.gap.count == 0) {
        c.flags |= wire::kWindow;
        c.window = peer.arrivals.tell(ctx_.window_serial);
    }
    peer.credit_queued = false;
    if (arrived != nullptr) {
        c.cumulative = static_cast<std::uint16_t>(arrived->first_missing());
        c.bitmap_bits = static_cast<std::uint16_t>(arrived->total());
    }
    if (h.type == wire::Type::ack) c.cumulative = peer.lost.told();
    std::string_view note;
    if (item.type == wire::Type::abort) note = ctx_.abort_note;
    if (item.noted) note = ctx_.notes_to[item.peer];
    if (!note.empty()) c.bitmap_bits = static_cast<std::uint16_t>(8 * note.size());
    const std::size_t body = wire::kControlBytes + Bitmap::wire_bytes(c.bitmap_bits);
    const std::size_t pad =
        wire::encode_headers(out.head, route(out, item.peer, path, 0), h, body + ctx_.config.auth.bytes());
    const std::span<std::byte> part = std::span(out.head).subspan(wire::kHeaderBytes);
    wire::encode_control(part, c);
    if (arrived != nullptr) arrived->bitmap().write(part.subspan(wire::kControlBytes), arrived->total());
    if (!note.empty()) std::memcpy(part.data() + wire::kControlBytes, note.data(), note.size());
    out.head_len = static_cast<std::uint16_t>(wire::kHeaderBytes + body);
    out.payload = {};
    seal(out, pad);

    Stats& s = ctx_.stats;
    ++s.tx_control;
    s.tx_inside_control += out.dst_ipv4 == ctx_.config.local.ipv4;
    switch (h.type) {
        case wire::Type::ack:
            ++s.tx_ack;
            break;
        case wire::Type::state:
            ++s.tx_state;
            break;
        case wire::Type::credit:
            ++s.tx_credit;
            break;
        case wire::Type::probe:
            ++s.tx_probe;
            break;
        case wire::Type::probe_rsp:
            ++s.tx_probe_rsp;
            break;
        default:
            ++s.tx_abort;
    }
    return true;
}

bool Transmitter::next_control(TxPacket& out, Nanos now) {
    while (!ctx_.control.empty()) {
        const ControlItem item = ctx_.control.pop();
        // Credit went with another packet meanwhile.
        if (item.type == wire::Type::credit && !ctx_.peers.get(item.peer).credit_queued) continue;
        if (build_control(item, out, now)) return true;
    }
    return false;
}

bool Transmitter::next(TxPacket& out, Nanos now) {
    if (next_control(out, now)) return true;
    const std::uint64_t pace = ctx_.config.pace_bps;
    if (pace != 0 && now < next_data_) return false;
    Copy copy;
    if (!sender_.next_copy(copy, now)) return false;
    build_data(copy, out, now);
    if (pace != 0) {
        const auto time = static_cast<Nanos>(out.size() * 8 * static_cast<std::uint64_t>(kSecond) / pace);
        next_data_ = std::max(next_data_, now - kBurst) + time;
    }
    return true;
}

Nanos Transmitter::deadline() const noexcept {
    return ctx_.config.pace_bps != 0 && sender_.has_copies() ? next_data_ : kNever;
}

}  // namespace csaud
