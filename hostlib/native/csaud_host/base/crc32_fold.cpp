#include "csaud_host/base/crc32_fold.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <utility>

// Compiled for processors that the rest need not run on.
#define CSAUD_FOLD [[gnu::target("avx,pclmul"), gnu::always_inline]] inline
#define CSAUD_FOLD_WIDE [[gnu::target("avx2,vpclmulqdq,pclmul"), gnu::always_inline]] inline

namespace csaud {
namespace {

constexpr std::size_t kBlock = 16;
constexpr std::size_t kMaskedBlocks = sizeof(Ones) / kBlock;

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

// The whole blocks that are not folded in yet, and behind them the bytes that are no whole block.
struct Rest {
    const std::byte* at;
    std::size_t blocks;
    std::size_t odd;
};

CSAUD_FOLD Rest all_of(std::span<const std::byte> data) noexcept {
    return {data.data(), data.size() / kBlock, data.size() % kBlock};
}
CSAUD_FOLD void step(Rest& rest, std::size_t blocks) noexcept {
    rest.at += blocks * kBlock;
    rest.blocks -= blocks;
}
CSAUD_FOLD __m128i first(std::uint32_t seed, Rest& rest) noexcept {
    const __m128i x = _mm_xor_si128(_mm_cvtsi32_si128(static_cast<int>(seed)), load(rest.at));
    step(rest, 1);
    return x;
}

// Blocks side by side.
template <std::size_t N>
struct Lanes {
    __m128i x[N];
};
// In what follows every lane has its own index in the code, so that it is in a register from the start.
template <std::size_t N, std::size_t... I>
CSAUD_FOLD void fill(Lanes<N>& lanes, std::size_t had, const std::byte* at,
                     std::index_sequence<I...>) noexcept {
    ((lanes.x[I] = I < had ? lanes.x[I] : load(at + (I - had) * kBlock)), ...);
}
template <std::size_t N, std::size_t... I>
CSAUD_FOLD void fold_all(Lanes<N>& lanes, const std::byte* at, std::index_sequence<I...>) noexcept {
    ((lanes.x[I] = fold(lanes.x[I], N, load(at + I * kBlock))), ...);
}
// The first half onto the second one, and so on.
template <std::size_t N, std::size_t... I>
CSAUD_FOLD void halve(Lanes<N>& lanes, std::size_t half, std::index_sequence<I...>) noexcept {
    ((lanes.x[N - half + I] = fold(lanes.x[N - 2 * half + I], half, lanes.x[N - half + I])), ...);
}
CSAUD_FOLD __m128i together(Lanes<8> lanes) noexcept {
    halve(lanes, 4, std::make_index_sequence<4>());
    halve(lanes, 2, std::make_index_sequence<2>());
    return fold(lanes.x[6], 1, lanes.x[7]);
}
CSAUD_FOLD __m128i together(Lanes<4> lanes) noexcept {
    halve(lanes, 2, std::make_index_sequence<2>());
    return fold(lanes.x[2], 1, lanes.x[3]);
}
CSAUD_FOLD __m128i together(const Lanes<3>& lanes) noexcept {
    return fold(lanes.x[1], 1, fold(lanes.x[0], 2, lanes.x[2]));
}

// Takes N blocks at a time, as long as there are as many, and brings them together; the first `had` are
// there.
template <std::size_t N>
CSAUD_FOLD __m128i by_lanes(Lanes<N>& lanes, std::size_t had, Rest& rest) noexcept {
    constexpr auto kAll = std::make_index_sequence<N>();
    fill(lanes, had, rest.at, kAll);
    step(rest, N - had);
#pragma GCC unroll 2
    for (; rest.blocks >= N; step(rest, N)) fold_all(lanes, rest.at, kAll);
    return together(lanes);
}
template <std::size_t N>
CSAUD_FOLD __m128i by_lanes(__m128i x, Rest& rest) noexcept {
    if (rest.blocks < N - 1) return x;
    Lanes<N> lanes;
    lanes.x[0] = x;
    return by_lanes(lanes, 1, rest);
}

// The blocks that begin a packet, with ones where `ones` has them.
CSAUD_FOLD __m128i masked(std::size_t block, const std::byte* at, const Ones& ones) noexcept {
    const auto* mask = reinterpret_cast<const __m128i*>(ones.bytes.data() + block * kBlock);
    return _mm_or_si128(load(at + block * kBlock), _mm_load_si128(mask));
}
template <std::size_t N>
CSAUD_FOLD void masked(Lanes<N>& lanes, std::uint32_t seed, const Ones& ones, Rest& rest) noexcept {
    static_assert(kMaskedBlocks == 3 && N >= 3);
    lanes.x[0] = _mm_xor_si128(_mm_cvtsi32_si128(static_cast<int>(seed)), masked(0, rest.at, ones));
    lanes.x[1] = masked(1, rest.at, ones);
    lanes.x[2] = masked(2, rest.at, ones);
    step(rest, kMaskedBlocks);
}

// Of the last block and `odd` bytes behind it: as many bytes from the front, behind zeros, which count for
// nothing, are folded onto the others.
CSAUD_FOLD __m128i with_odd(__m128i x, const Rest& rest) noexcept {
    constexpr std::uint8_t z = 0x80;
    alignas(16) static constexpr std::array<std::uint8_t, 3 * kBlock> kSlide = {
        z, z, z,  z,  z,  z,  z,  z,  z, z, z, z, z, z, z, z, 0, 1, 2, 3, 4, 5, 6, 7,
        8, 9, 10, 11, 12, 13, 14, 15, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z};
    const auto* slide = reinterpret_cast<const std::byte*>(kSlide.data()) + rest.odd;
    const __m128i back = load(slide + kBlock);
    const __m128i last = load(rest.at + rest.odd - kBlock);
    const __m128i end = _mm_blendv_epi8(_mm_shuffle_epi8(x, back), last, back);
    return fold(_mm_shuffle_epi8(x, load(slide)), 1, end);
}

// What is left, block by block, and of the last one the four bytes of the CRC (Barrett's reduction).
CSAUD_FOLD std::uint32_t finish(__m128i x, Rest rest) noexcept {
    for (; rest.blocks != 0; step(rest, 1)) x = fold(x, 1, load(rest.at));
    if (rest.odd != 0) x = with_odd(x, rest);
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
    Rest rest = all_of(data);
    __m128i x = first(seed, rest);
    x = by_lanes<8>(x, rest);
    x = by_lanes<4>(x, rest);
    return finish(x, rest);
}

[[gnu::target("avx,pclmul")]] std::uint32_t narrow_masked(std::uint32_t seed, std::span<const std::byte> data,
                                                          const Ones& ones) noexcept {
    constexpr std::size_t kLanes = 8;
    Rest rest = all_of(data);
    __m128i x;
    if (rest.blocks >= kLanes) {
        Lanes<kLanes> lanes;
        masked(lanes, ~seed, ones, rest);
        x = by_lanes(lanes, kMaskedBlocks, rest);
    } else {
        Lanes<kMaskedBlocks> lanes;
        masked(lanes, ~seed, ones, rest);
        x = together(lanes);
    }
    x = by_lanes<4>(x, rest);
    return ~finish(x, rest);
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
    step(rest, kBlocks - 1);
    for (; rest.blocks >= kBlocks; step(rest, kBlocks))
        for (std::size_t i = 0; i < kLanes; ++i)
            lane[i] = fold(lane[i], kBlocks, load_two(rest.at + 2 * i * kBlock));
    __m256i y = lane[kLanes - 1];
    for (std::size_t i = 0; i < kLanes - 1; ++i) y = fold(lane[i], 2 * (kLanes - 1 - i), y);
    return fold(_mm256_castsi256_si128(y), 1, _mm256_extracti128_si256(y, 1));
}

[[gnu::target("avx2,vpclmulqdq,pclmul")]] std::uint32_t wide(std::uint32_t seed,
                                                             std::span<const std::byte> data) noexcept {
    Rest rest = all_of(data);
    __m128i x = first(seed, rest);
    x = by_wide_lanes(x, rest);
    x = by_lanes<4>(x, rest);
    return finish(x, rest);
}

[[gnu::target("avx2,vpclmulqdq,pclmul")]] std::uint32_t wide_masked(std::uint32_t seed,
                                                                    std::span<const std::byte> data,
                                                                    const Ones& ones) noexcept {
    Rest rest = all_of(data);
    Lanes<kMaskedBlocks> begin;
    masked(begin, ~seed, ones, rest);
    __m128i x = together(begin);
    x = by_wide_lanes(x, rest);
    x = by_lanes<4>(x, rest);
    return ~finish(x, rest);
}

}  // namespace

std::vector<FoldCrc32> crc32_folders() {
    __builtin_cpu_init();
    std::vector<FoldCrc32> found;
    if (__builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2"))
        found.push_back({wide, wide_masked});
    if (__builtin_cpu_supports("pclmul") && __builtin_cpu_supports("avx"))
        found.push_back({narrow, narrow_masked});
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
