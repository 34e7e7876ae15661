#include "csaud_host/endpoint/foresight.hpp"

#include "csaud_host/base/byte_order.hpp"

namespace csaud {
namespace {

constexpr std::size_t kFromRank = wire::kHeaderBytes + 14;  // of a control part

struct Origin {
    std::uint16_t rank = UINT16_MAX;
    bool data = false;
};

// Whom a packet that was not checked says to be from. Of a train's followers the CSA header is all that is
// there so far.
Origin origin_of(std::span<const std::byte> packet) noexcept {
    if (packet.size() < wire::kHeaderBytes) return {};
    const wire::Type type = wire::type_of(packet);
    if (!wire::has_control_part(type))
        return {get16(packet.data() + wire::kCsaOffset + 16), type == wire::Type::data};
    return {packet.size() < kFromRank + 2 ? std::uint16_t{UINT16_MAX} : get16(packet.data() + kFromRank)};
}

}  // namespace

void Foresight::entry(Packet packet) const noexcept {
    ctx_.peers.prefetch_entry(origin_of(packet).rank);
}

void Foresight::peer(Packet packet) const noexcept {
    const Origin from = origin_of(packet);
    const Peer* const p = ctx_.peers.active(from.rank);
    if (p == nullptr) return;
    prefetch(p, from.data ? Peer::kOfData : sizeof(Peer));
}

void Foresight::message(Packet packet) const noexcept {
    const Origin from = origin_of(packet);
    const Peer* const p = from.data ? ctx_.peers.active(from.rank) : nullptr;
    if (p == nullptr) return;
    if (p->latest != nullptr) prefetch(p->latest, sizeof(Receive));
    const std::size_t path = get16(packet.data() + wire::kCsaOffset + 24) % p->rx_paths.size();
    prefetch(&p->rx_paths[path]);
}

void Foresight::before(std::span<const Packet> packets, std::size_t i) const noexcept {
    const auto stage = [&](std::size_t ahead, auto&& fetch) {
        // At the beginning for those that are so near already.
        for (std::size_t at = i == 0 ? 0 : i + ahead; at <= i + ahead && at < packets.size(); ++at)
            fetch(packets[at]);
    };
    stage(kPacket, [](Packet p) { prefetch(p.data(), wire::kHeaderBytes); });
    stage(kEntry, [this](Packet p) { entry(p); });
    stage(kPeer, [this](Packet p) { peer(p); });
    stage(kMessage, [this](Packet p) { message(p); });
}

void Foresight::before(std::span<const Timer> due) const noexcept {
    const auto each = [&](auto&& f) {
        for (const Timer& t : due) {
            if (t.kind == TimerKind::recv) f(receiver_.receive(t.index));
        }
    };
    each([](const Receive& m) { prefetch(&m, sizeof m); });
    each([this](const Receive& m) { ctx_.peers.prefetch_entry(m.name.src_rank); });
    each([this](const Receive& m) {
        if (const Peer* const p = ctx_.peers.active(m.name.src_rank); p != nullptr)
            prefetch(p, Peer::kOfData);
    });
}

}  // namespace csaud
