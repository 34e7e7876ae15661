#include "csaud_host/sending/probes.hpp"

#include <algorithm>

#include "csaud_host/loss/backoff.hpp"

namespace csaud {
namespace {
constexpr std::uint8_t kMostProbes = 32;
// PROBEs overtake DATA in queues: sooner, they would find little that is lost.
constexpr Nanos kLeast = 40 * kMicrosecond;
}  // namespace

Nanos Probes::wait(const Peer& peer, unsigned rounds) const noexcept {
    const Nanos least = std::max({2 * ctx_.patience_to_ask(peer), 4 * ctx_.config.timer_tick, kLeast});
    // Whose round trip is not known is asked soon, and then twice as long after every time.
    const unsigned known = peer.rtt.measured() ? 0 : kLostInARow;
    return backed_off(least, known + rounds, std::max({ctx_.longest_wait(), ctx_.config.timer_tick, kLeast}));
}

void Probes::on_timer(std::uint32_t i, SendMessage& m, const Peer& peer, Nanos now) {
    Nanos due = m.last_news + wait(peer, m.probe_rounds);
    if (now >= due) {
        ControlItem item = control_item(wire::Type::probe, wire::Reason::none, m.dst, m.name, m.total);
        item.cumulative = m.next;
        ctx_.control.push(item);
        if (m.probe_rounds < kMostProbes) ++m.probe_rounds;
        m.last_news = now;
        due = now + wait(peer, m.probe_rounds);
    }
    ctx_.timers.arm(TimerKind::send, i, due);
}

void Probes::answered(SendMessage& m) noexcept {
    m.probe_rounds = std::max<std::uint8_t>(m.probe_rounds, kLostInARow);
}

}  // namespace csaud
