#include "outbox.hpp"

#include <algorithm>

#include "clock.hpp"

namespace csaud::device {
namespace {

// Packets gathered between two looks at the clock.
constexpr std::size_t kClockEvery = 8;
// So few packets leave with their data first.
constexpr std::size_t kFew = 4;

}  // namespace

void Outbox::gather(Endpoint& endpoint, Nanos now) {
    count_ = 0;
    if (has_rest()) return;
    while (count_ < batch_.size() && endpoint.next_tx(batch_[count_], now)) {
        ++count_;
        if (count_ % kClockEvery == 0) now = monotonic_now();
    }
    // A peer that waits for a small message takes it up while the answers to what it sent are still on their
    // way.
    if (count_ > 1 && count_ <= kFew) {
        const auto few = std::span(batch_).first(count_);
        std::stable_partition(few.begin(), few.end(),
                              [](const TxPacket& packet) { return !packet.payload.empty(); });
    }
}

bool Outbox::send(Device& device) {
    const auto packets = has_rest() ? std::span(rest_) : std::span(batch_).first(count_);
    if (packets.empty()) return false;
    const Sent sent = device.send(packets);
    reason_ = sent.result;
    keep(packets.subspan(sent.taken));
    return !has_rest();
}

void Outbox::keep(std::span<const TxPacket> packets) {
    if (packets.empty()) return rest_.clear();
    if (has_rest()) {  // they are its end, copied before
        const auto kept = static_cast<std::ptrdiff_t>(packets.size());
        rest_.erase(rest_.begin(), rest_.end() - kept);
        return;
    }
    std::size_t bytes = 0;
    for (const TxPacket& packet : packets) bytes += packet.payload.size();
    payload_.resize(bytes);
    rest_.assign(packets.begin(), packets.end());
    std::byte* end = payload_.data();
    for (TxPacket& packet : rest_) {
        std::ranges::copy(packet.payload, end);
        packet.payload = {end, packet.payload.size()};
        end += packet.payload.size();
    }
}

}  // namespace csaud::device
