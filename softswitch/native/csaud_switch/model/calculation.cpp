#include "csaud_switch/model/calculation.hpp"

#include <array>
#include <cstring>

#include "csaud_switch/base/bits.hpp"

namespace csaud::sw {

namespace {

// Writes bits from the left; the last byte is padded with zeros on its right. Whole bytes are written eight
// at a time, so that there must be room for eight more.
class BitWriter {
  public:
    explicit BitWriter(std::uint8_t* out) : out_(out) {}

    static constexpr std::size_t kRoom = 8;

    void put(std::uint64_t value, unsigned width) {
        if (held_ == 0 && width % 8 == 0) {
            store_be64(out_, value << (64 - width));
            out_ += width / 8;
            return;
        }
        if (width > 56) {
            put_some(value >> 32 & mask64(width - 32), width - 32);
            put_some(value & 0xFFFFFFFFU, 32);
        } else {
            put_some(value, width);
        }
    }

    std::uint8_t* finish() {
        if (held_ > 0) *out_++ = static_cast<std::uint8_t>(bits_ << (8 - held_));
        held_ = 0;
        return out_;
    }

  private:
    void put_some(std::uint64_t value, unsigned width) {
        bits_ = bits_ << width | value;
        held_ += width;
        while (held_ >= 8) {
            held_ -= 8;
            *out_++ = static_cast<std::uint8_t>(bits_ >> held_);
        }
        bits_ &= mask64(held_);
    }

    std::uint8_t* out_;
    std::uint64_t bits_ = 0;
    unsigned held_ = 0;
};

std::uint8_t* pack(const Calculation& calculation, const Packet& packet, std::uint8_t* out) {
    BitWriter writer(out);
    for (const CalculationInput& input : calculation.inputs) {
        const std::uint64_t* words = input.value;
        if (input.kind != CalculationInput::Kind::kConstant) {
            if (!input.always && packet.slots[input.valid_slot] == 0) continue;
            words = &packet.slots[input.slot];
        }
        if (input.kind == CalculationInput::Kind::kVarbit) {
            auto at = static_cast<std::uint32_t>(words[1]);
            for (std::uint64_t left = words[0]; left > 0;) {
                const auto width = static_cast<unsigned>(left < 32 ? left : 32);
                writer.put(extract_bits(packet.buffer.get(), at, width), width);
                at += width;
                left -= width;
            }
            continue;
        }
        if (input.width > 64) writer.put(words[1], input.width - 64);
        writer.put(words[0], input.width > 64 ? 64 : input.width);
    }
    return writer.finish();
}

}  // namespace

void Calculation::prepare() {
    if (algorithm == HashAlgorithm::kIdentity && !payload && inputs.size() == 1 && inputs[0].always &&
        inputs[0].kind == CalculationInput::Kind::kField && inputs[0].width % 8 == 0 && inputs[0].width <= 64)
        plain_slot = inputs[0].slot;
    if (algorithm != HashAlgorithm::kCsum16 || payload || inputs.empty()) return;
    const CalculationInput* owner = nullptr;
    for (const CalculationInput& input : inputs) {
        if (input.width > 32 || input.kind == CalculationInput::Kind::kVarbit) return;
        if (input.kind != CalculationInput::Kind::kField) continue;
        if (owner != nullptr && (owner->always != input.always || owner->valid_slot != input.valid_slot))
            return;
        owner = &input;
    }
    if (owner == nullptr) return;
    lanes_always = owner->always;
    lanes_valid_slot = owner->valid_slot;
    std::uint32_t end = 0;
    for (const CalculationInput& input : inputs) {
        end += input.width;
        const unsigned shift = (16 - end % 16) % 16;
        if (input.kind == CalculationInput::Kind::kField) {
            lanes.push_back({input.slot, shift});
        } else if (!lanes_always) {
            lanes.clear();  // a constant stays when the header goes
            return;
        } else {
            lanes_constant += input.value[0] << shift;
        }
    }
}

std::uint64_t Calculation::compute_hash(const Packet& packet) const {
    if (!lanes.empty() && (lanes_always || packet.slots[lanes_valid_slot] != 0)) {
        std::uint64_t sum = lanes_constant;
        for (const Lane& lane : lanes) sum += packet.slots[lane.slot] << lane.shift;
        while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
        return ~sum & 0xFFFF;
    }
    constexpr std::size_t kSmall = 512;
    std::array<std::uint8_t, kSmall + BitWriter::kRoom> small;
    if (!payload && bits <= 8 * kSmall) {
        const std::uint8_t* end = pack(*this, packet, small.data());
        return hash_bytes(algorithm, small.data(), static_cast<std::size_t>(end - small.data()));
    }
    std::vector<std::uint8_t> bytes(bits / 8 + 1 + packet.length + BitWriter::kRoom);
    std::uint8_t* end = pack(*this, packet, bytes.data());
    if (payload) {
        std::memcpy(end, packet.data(), packet.visible_length());
        end += packet.visible_length();
    }
    return hash_bytes(algorithm, bytes.data(), static_cast<std::size_t>(end - bytes.data()));
}

}  // namespace csaud::sw
