#include "question.hpp"

#include "csaud_host/base/byte_order.hpp"

namespace csaud::device::onlink {
namespace {

constexpr std::uint32_t kMagic = 0x4353'4151;  // "CSAQ"; packets begin with a BTH opcode, 0x64
constexpr std::size_t kKindAt = 4, kPaddingAt = 5, kNonceAt = 8;

}  // namespace

std::array<std::byte, kQuestionBytes> encode(const Question& question) {
    std::array<std::byte, kQuestionBytes> out{};
    put32(out.data(), kMagic);
    put8(out.data() + kKindAt, static_cast<unsigned>(question.kind));
    put8(out.data() + kPaddingAt, question.padding);
    put32(out.data() + kNonceAt, static_cast<std::uint32_t>(question.nonce >> 32));
    put32(out.data() + kNonceAt + 4, static_cast<std::uint32_t>(question.nonce));
    return out;
}

std::optional<Question> decode(std::span<const std::byte> datagram) {
    if (datagram.size() < kQuestionBytes || get32(datagram.data()) != kMagic) return std::nullopt;
    const unsigned kind = get8(datagram.data() + kKindAt);
    if (kind < static_cast<unsigned>(Kind::question) || kind > static_cast<unsigned>(Kind::answer))
        return std::nullopt;
    return Question{
        static_cast<Kind>(kind), get8(datagram.data() + kPaddingAt),
        (std::uint64_t{get32(datagram.data() + kNonceAt)} << 32) | get32(datagram.data() + kNonceAt + 4)};
}

}  // namespace csaud::device::onlink
