#include "csaud_host/sending/repairs.hpp"

#include <algorithm>

namespace csaud {
namespace {
// Of a copy that goes again, whose message is not more urgent by itself.
constexpr std::uint8_t kRepairClass = 3;
}  // namespace

void Repairs::queue(std::uint32_t i, std::uint16_t idx, Detector found_by, PathFeedback found, Nanos now) {
    const SendMessage& m = sends_[i];
    PacketRecord& r = sends_.record(m, idx);
    if (r.queued) return;
    r.queued = true;
    paths_.lost(ctx_.peers.get(m.dst), r, found, now);
    queue_.push({.message = sends_.handle(i), .pkt_idx = idx, .found_by = found_by});
}

void Repairs::reported(std::uint32_t i, std::uint16_t idx, std::uint8_t attempt, Nanos now) {
    const SendMessage& m = sends_[i];
    if (!ctx_.config.detectors.loss || m.arrived.test(idx)) return;
    // An older copy than the newest is past caring about: its successor is under way.
    if (attempt == sends_.record(m, idx).attempt) queue(i, idx, Detector::loss, PathFeedback::nack, now);
}

void Repairs::gap(Peer& peer, const wire::ControlPart& c, Nanos now) {
    for (const std::uint32_t i : peer.begun) {
        const SendMessage& m = sends_[i];
        for (std::uint16_t idx = 0; idx < m.next; ++idx) {
            const PacketRecord& r = sends_.record(m, idx);
            if (r.path != c.echoed_path || m.arrived.test(idx)) continue;
            const std::int32_t at = ctx_.path_serial.distance(c.gap.first, r.path_seq);
            if (at >= 0 && at < c.gap.count) queue(i, idx, Detector::gap, PathFeedback::missing, now);
        }
    }
}

unsigned Repairs::missing(std::uint32_t i, const Peer& peer, const wire::Decoded& d, Nanos late, Nanos now) {
    const SendMessage& m = sends_[i];
    const wire::ControlPart& c = d.control;
    const bool probed = c.reason == wire::Reason::probed;
    const Nanos patience = peer.rtt.patience();
    unsigned found = 0;
    for (std::size_t idx = m.arrived.first_clear(0, m.next); idx < m.next;
         idx = m.arrived.first_clear(idx + 1, m.next)) {
        const PacketRecord& r = sends_.record(m, idx);
        bool lost;
        bool told = false;  // by the receiver, that something sent later has arrived
        if (probed) {
            // The PROBE may have overtaken what was sent shortly before it.
            lost = (c.flags & wire::kEcho) != 0 &&
                   ctx_.nanos(ctx_.ts_serial.distance(r.tx_ts, c.newest_tx_ts)) >=
                       patience - peer.rtt.base() / 2;
        } else {
            // RACK (RFC 8985): something sent later has arrived, and that long enough ago (the receiver
            // waited). A burst shares one tick of the clock; within it the order is that of the indices.
            const std::int32_t ahead = ctx_.ts_serial.distance(r.tx_ts, c.newest_tx_ts);
            told = (c.flags & wire::kSeen) != 0 && (ahead > 0 || (ahead == 0 && idx <= d.csa.pkt_idx));
            const bool seen = (c.flags & wire::kSeen) != 0;
            // Otherwise what should have been here, by our clock, is all that it can say. Who never heard of
            // us does not know our clock: what we have sent may have passed its question, which is answered.
            const bool overdue = !seen && c.newest_tx_ts != 0 && ahead >= 0;
            lost = told || (overdue && departures_.age(r, now) > patience + late);
        }
        if (!lost) continue;
        ++found;
        queue(i, static_cast<std::uint16_t>(idx), probed ? Detector::probe : Detector::interval,
              told ? PathFeedback::missing : PathFeedback::timeout, now);
    }
    return found;
}

void Repairs::keep_comparable(const SendMessage& m, Nanos now) noexcept {
    const Serial& s = ctx_.ts_serial;
    const std::uint32_t oldest = s.wrap(std::uint64_t{ctx_.ticks(now)} - s.quarter());
    for (std::size_t idx = m.arrived.first_clear(0, m.next); idx < m.next;
         idx = m.arrived.first_clear(idx + 1, m.next)) {
        PacketRecord& r = sends_.record(m, idx);
        if (s.distance(r.tx_ts, oldest) > 0) r.tx_ts = oldest;
    }
}

bool Repairs::next(Copy& copy, Nanos now) {
    while (!queue_.empty()) {
        const Retransmission r = queue_.pop();
        SendMessage* m = sends_.find(r.message);
        if (m == nullptr) continue;  // finished meanwhile
        PacketRecord& record = sends_.record(*m, r.pkt_idx);
        record.queued = false;
        if (m->arrived.test(r.pkt_idx)) continue;
        Peer& peer = ctx_.peers.get(m->dst);
        Sends::under_way_again(*m, peer);
        m->probe_rounds = 0;
        probes_.expect(r.message.index, peer, now);
        ++ctx_.stats.tx_path_lost[record.path];
        record.path = peer.paths.next_other(record.path);
        record.attempt = record.attempt == UINT8_MAX ? 1 : static_cast<std::uint8_t>(record.attempt + 1);
        departures_.stamp(*m, peer, record, now);
        ++*counts_[static_cast<std::size_t>(r.found_by)];
        copy = {m, r.pkt_idx, record, false, std::min(m->cls, kRepairClass)};
        return true;
    }
    return false;
}

}  // namespace csaud
