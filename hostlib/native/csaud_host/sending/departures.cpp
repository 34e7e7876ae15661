#include "csaud_host/sending/departures.hpp"

#include <algorithm>

namespace csaud {
namespace {
// What a batch of copies takes to leave where nobody is held up.
constexpr Nanos kHeldUp = 10 * kMicrosecond;
}  // namespace

void Departures::stamp(SendMessage& m, Peer& peer, PacketRecord& r, Nanos now) {
    r.tx_ts = ctx_.ticks(now);
    r.path_seq = peer.tx_seq[r.path];
    peer.tx_seq[r.path] = static_cast<std::uint16_t>(ctx_.path_serial.wrap(r.path_seq + 1ULL));
    if (giving_.begun == kNever) giving_ = {r.tx_ts, r.tx_ts, now, 0};
    giving_.last = r.tx_ts;
    m.last_news = now;
    ++ctx_.stats.tx_data;
    ++ctx_.stats.tx_path[r.path];
}

void Departures::handed_over(Nanos now) noexcept {
    if (giving_.begun == kNever) return;
    if (now - giving_.begun > std::max(kHeldUp, ctx_.config.timer_tick)) {
        held_up_ = giving_;
        held_up_.left = now;
    }
    giving_.begun = kNever;
}

Nanos Departures::age(const PacketRecord& r, Nanos now) const noexcept {
    const Serial& s = ctx_.ts_serial;
    if (held_up_.begun != kNever && s.at_or_before(held_up_.first, r.tx_ts) &&
        s.at_or_before(r.tx_ts, held_up_.last)) {
        return now - held_up_.left;
    }
    return ctx_.nanos(s.distance(r.tx_ts, ctx_.ticks(now)));
}

}  // namespace csaud
