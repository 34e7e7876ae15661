#include "csaud_host/endpoint/plausibility.hpp"

#include "csaud_host/messages/reassembly.hpp"
#include "csaud_host/parity/galois.hpp"

namespace csaud {

bool Plausibility::data(const wire::Decoded& d) const noexcept {
    const wire::CsaHeader& h = d.csa;
    return ctx_.peers.known(h.name.src_rank) &&
           plausible_cut(ctx_.payload_bytes, h.pkt_idx, h.pkt_total, d.payload.size());
}

bool Plausibility::parity(const wire::Decoded& d) const noexcept {
    const wire::CsaHeader& h = d.csa;
    const std::size_t covered = h.attempt;
    return ctx_.peers.known(h.name.src_rank) && h.pkt_idx < kMostParityRows && covered >= 1 &&
           covered <= kMostParityCovered && h.pkt_total <= kMaxPackets && covered <= h.pkt_total &&
           !d.payload.empty() &&
           (covered == 1 ? d.payload.size() <= ctx_.payload_bytes : d.payload.size() == ctx_.payload_bytes);
}

bool Plausibility::loss(const wire::CsaHeader& h) const noexcept {
    return h.pkt_total <= kMaxPackets && h.pkt_idx < h.pkt_total;
}

bool Plausibility::of_message(const wire::Decoded& d) noexcept {
    const wire::CsaHeader& h = d.csa;
    const wire::ControlPart& c = d.control;
    // An ACK counts what was lost there.
    const bool counts = h.type == wire::Type::ack || c.cumulative <= h.pkt_total;
    return h.pkt_total <= kMaxPackets && h.pkt_idx < h.pkt_total && counts &&
           (c.bitmap_bits == 0 || c.bitmap_bits == h.pkt_total);
}

bool Plausibility::control(const wire::Decoded& d) const noexcept {
    const std::uint16_t from = d.control.from_rank;
    const std::uint16_t src = d.csa.name.src_rank;
    const std::uint16_t self = ctx_.config.rank;
    const wire::Reason reason = d.control.reason;
    if (!ctx_.peers.known(from)) return false;
    const bool may_note = wire::may_have_note(d.csa.type, reason);
    if (d.csa.type != wire::Type::state && !may_note && d.control.bitmap_bits != 0) return false;
    const bool of_path = (d.csa.flags & wire::kEcnEcho) != 0 || (d.control.flags & wire::kOfPath) != 0;
    if (of_path && d.control.echoed_path >= ctx_.config.paths) return false;
    if (d.csa.type != wire::Type::abort &&
        !ctx_.peers.credit(from).plausible(ctx_.credit_serial, d.control.credit, ctx_.longest_window)) {
        return false;
    }
    switch (d.csa.type) {
        case wire::Type::ack:
            return src == self && of_message(d);
        case wire::Type::state:
            return src == self && of_message(d) && reason >= wire::Reason::loss &&
                   reason <= wire::Reason::probed;
        case wire::Type::credit:
            return true;
        case wire::Type::probe:
            return src == from && (reason == wire::Reason::ping || of_message(d));
        case wire::Type::probe_rsp:
            if (reason == wire::Reason::pong) return true;
            return of_message(d) && (reason == wire::Reason::not_ready ? src == self : src == from);
        case wire::Type::abort:
            return src < ctx_.config.world &&
                   (reason == wire::Reason::peer_dead || reason == wire::Reason::user_abort);
        default:
            return true;  // reserved types are counted and otherwise ignored
    }
}

}  // namespace csaud
