#include "csaud_host/loss/path_gap.hpp"

namespace csaud {

wire::PathGap PathTracker::on_data(const Serial& serial, std::uint16_t seq, bool ordered) noexcept {
    if (!known_) {
        known_ = true;
        expected_ = seq;
    }
    const std::int32_t ahead = serial.distance(expected_, seq);
    if (ahead < 0) return {};  // overtaken, or a duplicate: the hole was reported or never was one
    wire::PathGap gap;
    if (ordered && ahead > 0) {
        // Reported numbers inside the range do no harm: the sender resends a copy only once.
        unsigned begin = 0;
        auto end = static_cast<unsigned>(ahead);
        while (begin < end && begin < 64 && ((filled_ >> begin) & 1U) != 0) ++begin;
        while (end > begin && end <= 64 && ((filled_ >> (end - 1)) & 1U) != 0) --end;
        gap = {static_cast<std::uint16_t>(serial.wrap(std::uint64_t{expected_} + begin)),
               static_cast<std::uint16_t>(end - begin)};
    }
    advance(static_cast<unsigned>(ahead) + 1);
    expected_ = static_cast<std::uint16_t>(serial.wrap(std::uint64_t{seq} + 1));
    return gap;
}

void PathTracker::on_loss(const Serial& serial, std::uint16_t seq) noexcept {
    if (!known_) return;
    const std::int32_t ahead = serial.distance(expected_, seq);
    if (ahead >= 0 && ahead < 64) filled_ |= std::uint64_t{1} << ahead;
}

}  // namespace csaud
