#include "csaud_host/endpoint/job_end.hpp"

namespace csaud {

void JobEnd::fail(Status status, std::uint16_t rank, bool flood, Nanos now) {
    if (come()) return;
    ctx_.control.clear();
    sender_.fail_all(status, rank, now);
    receiver_.fail_all(status, rank, now);
    abort_.enter(status, rank, flood, now);
}

void JobEnd::on_abort(const wire::Decoded& d, Peer& peer, Nanos now) {
    if (!abort_.believes(peer, d.control, now)) return;
    const bool dead = d.control.reason == wire::Reason::peer_dead;
    ctx_.abort_note.assign(reinterpret_cast<const char*>(d.bitmap.data()), d.bitmap.size());
    fail(dead ? Status::peer_unreachable : Status::aborted, d.csa.name.src_rank, false, now);
}

void JobEnd::on_packet(const wire::Decoded& d, Nanos now) {
    Stats& s = ctx_.stats;
    if (d.csa.type == wire::Type::loss) {
        ++s.rx_loss_repeats;  // of whatever: it does nothing any more
        return;
    }
    const bool data = d.csa.type == wire::Type::data;
    const bool control = wire::has_control_part(d.csa.type);
    const std::uint16_t from = !control ? d.csa.name.src_rank : d.control.from_rank;
    if (!ctx_.peers.known(from)) {
        ++s.rx_bad_index;
        return;
    }
    if (data) {
        ++s.rx_data;
        ++s.rx_early_dropped;
    } else if (!control) {
        ++s.rx_parity;
        return;
    } else {
        ++s.rx_control;
    }
    if (d.csa.type == wire::Type::abort) {
        ++s.rx_abort;
        return;
    }
    abort_.reply(ctx_.peers.get(from), d.csa.tx_ts, now);
}

std::uint64_t JobEnd::refuse(const MessageName& name, CompletionKind kind, std::size_t bytes, Nanos now) {
    const std::uint64_t id = ctx_.next_id++;
    ctx_.completions.push({.id = id,
                           .kind = kind,
                           .status = abort_.status(),
                           .rank = abort_.rank(),
                           .bytes = bytes,
                           .started_ns = now,
                           .finished_ns = now,
                           .name = name});
    return id;
}

}  // namespace csaud
