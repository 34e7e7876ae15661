// What ranks ask each other, beside packets, on the socket that trains go through: 16 bytes that no packet
// begins with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace csaud::device::onlink {

enum class Kind : std::uint8_t { question = 1, padding = 2, answer = 3 };

struct Question {
    Kind kind = Kind::question;
    // Packets of padding before the question, which make a train of it: it is answered where all of them
    // came.
    std::uint8_t padding = 0;
    std::uint64_t nonce = 0;  // the asking rank's; an answer repeats it
};

inline constexpr std::size_t kQuestionBytes = 16;

std::array<std::byte, kQuestionBytes> encode(const Question&);
// Nothing: it is something else, such as a packet.
std::optional<Question> decode(std::span<const std::byte> datagram);

}  // namespace csaud::device::onlink
