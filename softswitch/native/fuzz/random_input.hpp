// What a FuzzedDataProvider reads has no form: now and then a whole new input instead of a changed one, so
// that the first ones are not all too short to say anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
    constexpr unsigned kNew = 8;  // one in so many
    if (seed % kNew != 0) return LLVMFuzzerMutate(data, size, max_size);
    std::minstd_rand random(seed);
    const std::size_t length = random() % max_size + 1;
    for (std::size_t i = 0; i < length; ++i) data[i] = static_cast<std::uint8_t>(random() >> 8);
    return length;
}
