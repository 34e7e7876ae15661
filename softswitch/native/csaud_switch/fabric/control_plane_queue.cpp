#include "csaud_switch/fabric/control_plane_queue.hpp"

#include <iterator>
#include <utility>

namespace csaud::sw {

bool ControlPlaneQueue::add(const Packet& packet) {
    if (packets_.size() >= kPacketLimit) return false;
    const auto frame = packet.frame();
    packets_.emplace_back(frame.begin(), frame.end());
    return true;
}

bool ControlPlaneQueue::add(const Digest& digest, std::uint32_t index, const Packet& packet, Nanos now) {
    if (digests_.size() >= kDigestLimit) return false;
    DigestSample& sample = digests_.emplace_back(DigestSample{index, {}, now});
    for (const Digest::Element& element : digest.elements) {
        const std::uint64_t* words = element.name.empty() ? element.value : &packet.slots[element.field.slot];
        sample.words.insert(sample.words.end(), words, words + words_for(element.field.width));
    }
    return true;
}

std::vector<std::vector<std::uint8_t>> ControlPlaneQueue::take_packets() {
    std::vector<std::vector<std::uint8_t>> taken(std::make_move_iterator(packets_.begin()),
                                                 std::make_move_iterator(packets_.end()));
    packets_.clear();
    return taken;
}

std::vector<DigestSample> ControlPlaneQueue::take_digests() {
    return std::exchange(digests_, {});
}

}  // namespace csaud::sw
