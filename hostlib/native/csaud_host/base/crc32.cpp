#include "csaud_host/base/crc32.hpp"

#include "csaud_host/base/crc32_fold.hpp"

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

const FoldCrc32 kFold = [] {
    const std::vector<FoldCrc32> all = crc32_folders();
    return all.empty() ? nullptr : all.front();
}();

}  // namespace

std::uint32_t crc32(std::uint32_t seed, std::span<const std::byte> data) noexcept {
    if (kFold == nullptr || data.size() < kLeastFolded) return of_library(seed, data);
    return ~kFold(~seed, data);
}

}  // namespace csaud
