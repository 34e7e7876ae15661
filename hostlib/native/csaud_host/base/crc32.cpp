#include "csaud_host/base/crc32.hpp"

#include <vector>

#ifdef CSAUD_HAVE_ISAL
#include <isa-l/crc.h>
#else
#include <zlib.h>
#endif

namespace csaud {
namespace {

std::uint32_t of_library(std::uint32_t seed, std::span<const std::byte> data) noexcept {
    if (data.empty()) return seed;  // zlib takes a null pointer for "start anew"
    const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
#ifdef CSAUD_HAVE_ISAL
    return crc32_gzip_refl(seed, bytes, data.size());
#else
    return static_cast<std::uint32_t>(::crc32_z(seed, bytes, data.size()));
#endif
}

std::uint32_t masked_of_library(std::uint32_t seed, std::span<const std::byte> data,
                                const Ones& ones) noexcept {
    Ones begin;
    for (std::size_t i = 0; i < ones.bytes.size(); ++i) begin.bytes[i] = data[i] | ones.bytes[i];
    return of_library(of_library(seed, begin.bytes), data.subspan(begin.bytes.size()));
}

const FoldCrc32 kFold = [] {
    const std::vector<FoldCrc32> all = crc32_folders();
    return all.empty() ? FoldCrc32{} : all.front();
}();

}  // namespace

std::uint32_t crc32(std::uint32_t seed, std::span<const std::byte> data) noexcept {
    if (kFold.plain == nullptr || data.size() < kLeastFolded) return of_library(seed, data);
    return ~kFold.plain(~seed, data);
}

const MaskedCrc32 masked_crc32 = kFold.masked != nullptr ? kFold.masked : masked_of_library;

}  // namespace csaud
