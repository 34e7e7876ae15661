// Prints the CSA header that the codec writes for the fields named on the command line (name=value), as hex.
// The test of the header definition links it with altered copies of wire.cpp.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "csaud_host/base/crc32.hpp"
#include "csaud_host/wire/wire.hpp"

namespace csaud {
// Headers have no checksum that matters here.
std::uint32_t crc32(std::uint32_t, std::span<const std::byte>) noexcept {
    return 0;
}
const MaskedCrc32 masked_crc32 = [](std::uint32_t, std::span<const std::byte>, const Ones&) noexcept {
    return std::uint32_t{0};
};
}  // namespace csaud

int main(int count, char** words) {
    using namespace csaud;
    wire::CsaHeader h;
    const auto into = [](auto& field) {
        return
            [&field](unsigned long v) { field = static_cast<std::remove_reference_t<decltype(field)>>(v); };
    };
    const std::map<std::string, std::function<void(unsigned long)>> fields{
        {"type", into(h.type)},
        {"flags", into(h.flags)},
        {"spray", into(h.spray)},
        {"cls", into(h.cls)},
        {"ordered", into(h.ordered)},
        {"attempt", into(h.attempt)},
        {"epoch", into(h.name.epoch)},
        {"comm", into(h.name.comm)},
        {"step", into(h.name.step)},
        {"coll_seq", into(h.name.coll_seq)},
        {"src_rank", into(h.name.src_rank)},
        {"chunk", into(h.name.chunk)},
        {"pkt_idx", into(h.pkt_idx)},
        {"pkt_total", into(h.pkt_total)},
        {"path_id", into(h.path_id)},
        {"path_seq", into(h.path_seq)},
        {"tx_ts", into(h.tx_ts)},
    };
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        const auto at = word.find('=');
        fields.at(word.substr(0, at))(std::strtoul(word.c_str() + at + 1, nullptr, 0));
    }
    std::array<std::byte, wire::kHeaderBytes> out{};
    wire::encode_headers(out, wire::Route{}, h, 0);
    for (std::size_t i = wire::kCsaOffset; i < wire::kHeaderBytes; ++i)
        std::printf("%02x", std::to_integer<unsigned>(out[i]));
}
