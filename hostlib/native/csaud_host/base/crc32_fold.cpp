#include "csaud_host/base/crc32_fold.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>

// Compiled for processors that the rest need not run on.
#define CSAUD_FOLD [[gnu::target("avx,pclmul"), gnu::always_inline]] inline
#define CSAUD_FOLD_WIDE [[gnu::target("avx2,vpclmulqdq,pclmul"), gnu::always_inline]] inline

namespace csaud {
namespace {

constexpr std::size_t kBlock = 16;

// Bits as they are on the wire: the lowest bit of a register is the highest power of x.
constexpr std::uint64_t kPolynomial = 0x1DB710641;  // P
constexpr std::uint64_t kQuotient = 0x1F7011641;    // floor(x^64 / P)

// x^n mod P, a bit further up: a product of two such polynomials comes out a bit too low.
constexpr std::uint64_t power(unsigned n) noexcept {
    std::uint64_t r = 0x80000000;  // x^0
    for (; n != 0; --n) r = (r >> 1) ^ ((r & 1) != 0 ? kPolynomial >> 1 : 0);
    return r << 1;
}

// What the two halves of a block are multiplied with to stand so many blocks later.
struct Shift {
    std::uint64_t first, second;
};
constexpr std::array<Shift, 9> kBy = [] {
    std::array<Shift, 9> by{};
    for (unsigned blocks = 1; blocks < by.size(); ++blocks)
        by[blocks] = {power(128 * blocks + 32), power(128 * blocks - 32)};
    return by;
}();

CSAUD_FOLD __m128i pair(std::uint64_t low, std::uint64_t high) noexcept {
    return _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
}
CSAUD_FOLD __m128i load(const std::byte* p) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
CSAUD_FOLD __m128i fold(__m128i x, std::size_t blocks, __m128i onto) noexcept {
    const __m128i by = pair(kBy[blocks].first, kBy[blocks].second);
    return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(x, by, 0x00), onto),
                         _mm_clmulepi64_si128(x, by, 0x11));
}

struct Rest {
    const std::byte* at;
    std::size_t blocks;
};

// Begins with the seed and as many bytes as are no whole block, behind zeros, which count for nothing; and
// the first whole block.
CSAUD_FOLD __m128i begin(std::uint32_t seed, std::span<const std::byte> data, Rest& rest) noexcept {
    constexpr std::uint8_t z = 0x80;
    alignas(16) static constexpr std::array<std::uint8_t, 3 * kBlock> kSlide = {
        z, z, z,  z,  z,  z,  z,  z,  z, z, z, z, z, z, z, z, 0, 1, 2, 3, 4, 5, 6, 7,
        8, 9, 10, 11, 12, 13, 14, 15, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z};
    const std::size_t odd = data.size() % kBlock;
    const auto* slide = reinterpret_cast<const std::byte*>(kSlide.data()) + odd;
    const __m128i start = _mm_cvtsi32_si128(static_cast<int>(seed));
    const __m128i few = _mm_shuffle_epi8(_mm_xor_si128(start, load(data.data())), load(slide));
    const __m128i first =
        _mm_xor_si128(_mm_shuffle_epi8(start, load(slide + kBlock)), load(data.data() + odd));
    rest = {data.data() + odd + kBlock, data.size() / kBlock - 1};
    return fold(few, 1, first);
}

// Takes N blocks at a time, as long as there are as many, and brings them together.
template <std::size_t N>
CSAUD_FOLD __m128i by_lanes(__m128i x, Rest& rest) noexcept {
    if (rest.blocks < N - 1) return x;
    __m128i lane[N];
    lane[0] = x;
    for (std::size_t i = 1; i < N; ++i) lane[i] = load(rest.at + (i - 1) * kBlock);
    rest = {rest.at + (N - 1) * kBlock, rest.blocks - (N - 1)};
    for (; rest.blocks >= N; rest = {rest.at + N * kBlock, rest.blocks - N})
        for (std::size_t i = 0; i < N; ++i) lane[i] = fold(lane[i], N, load(rest.at + i * kBlock));
    x = lane[N - 1];
    for (std::size_t i = 0; i < N - 1; ++i) x = fold(lane[i], N - 1 - i, x);
    return x;
}

// What is left, block by block, and of the last one the four bytes of the CRC (Barrett's reduction).
CSAUD_FOLD std::uint32_t finish(__m128i x, Rest rest) noexcept {
    for (; rest.blocks != 0; rest = {rest.at + kBlock, rest.blocks - 1}) x = fold(x, 1, load(rest.at));
    const __m128i low = pair(0xFFFFFFFF, 0);
    x = _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(x, pair(power(96), 0), 0x00));
    x = _mm_xor_si128(_mm_srli_si128(x, 4),
                      _mm_clmulepi64_si128(_mm_and_si128(x, low), pair(power(64), 0), 0x00));
    const __m128i by = pair(kPolynomial, kQuotient);
    __m128i q = _mm_and_si128(_mm_clmulepi64_si128(_mm_and_si128(x, low), by, 0x10), low);
    q = _mm_xor_si128(x, _mm_clmulepi64_si128(q, by, 0x00));
    return static_cast<std::uint32_t>(_mm_extract_epi32(q, 1));
}

[[gnu::target("avx,pclmul")]] std::uint32_t narrow(std::uint32_t seed,
                                                   std::span<const std::byte> data) noexcept {
    Rest rest;
    __m128i x = begin(seed, data, rest);
    x = by_lanes<8>(x, rest);
    x = by_lanes<4>(x, rest);
    return finish(x, rest);
}

CSAUD_FOLD_WIDE __m256i fold(__m256i x, std::size_t blocks, __m256i onto) noexcept {
    const __m256i by = _mm256_broadcastsi128_si256(pair(kBy[blocks].first, kBy[blocks].second));
    return _mm256_xor_si256(_mm256_xor_si256(_mm256_clmulepi64_epi128(x, by, 0x00), onto),
                            _mm256_clmulepi64_epi128(x, by, 0x11));
}
CSAUD_FOLD_WIDE __m256i load_two(const std::byte* p) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

// As by_lanes<8>, two blocks in a register.
CSAUD_FOLD_WIDE __m128i by_wide_lanes(__m128i x, Rest& rest) noexcept {
    constexpr std::size_t kLanes = 4, kBlocks = 2 * kLanes;
    if (rest.blocks < 2 * kBlocks) return x;
    __m256i lane[kLanes];
    lane[0] = _mm256_set_m128i(load(rest.at), x);
    for (std::size_t i = 1; i < kLanes; ++i) lane[i] = load_two(rest.at + (2 * i - 1) * kBlock);
    rest = {rest.at + (kBlocks - 1) * kBlock, rest.blocks - (kBlocks - 1)};
    for (; rest.blocks >= kBlocks; rest = {rest.at + kBlocks * kBlock, rest.blocks - kBlocks})
        for (std::size_t i = 0; i < kLanes; ++i)
            lane[i] = fold(lane[i], kBlocks, load_two(rest.at + 2 * i * kBlock));
    __m256i y = lane[kLanes - 1];
    for (std::size_t i = 0; i < kLanes - 1; ++i) y = fold(lane[i], 2 * (kLanes - 1 - i), y);
    return fold(_mm256_castsi256_si128(y), 1, _mm256_extracti128_si256(y, 1));
}

[[gnu::target("avx2,vpclmulqdq,pclmul")]] std::uint32_t wide(std::uint32_t seed,
                                                             std::span<const std::byte> data) noexcept {
    Rest rest;
    __m128i x = begin(seed, data, rest);
    x = by_wide_lanes(x, rest);
    x = by_lanes<4>(x, rest);
    return finish(x, rest);
}

}  // namespace

std::vector<FoldCrc32> crc32_folders() {
    __builtin_cpu_init();
    std::vector<FoldCrc32> found;
    if (__builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2")) found.push_back(wide);
    if (__builtin_cpu_supports("pclmul") && __builtin_cpu_supports("avx")) found.push_back(narrow);
    return found;
}

}  // namespace csaud

#else

namespace csaud {
std::vector<FoldCrc32> crc32_folders() {
    return {};
}
}  // namespace csaud

#endif
