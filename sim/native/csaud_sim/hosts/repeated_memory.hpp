// A long range of addresses over little memory: what is read and written there is of no concern, and stays
// in a cache.
#pragma once

#include <cstddef>
#include <span>

namespace csaud::sim {

class RepeatedMemory {
  public:
    // least: bytes of memory, a power of two of pages; the less, the more mappings, of which a process has
    // not many. Throws std::system_error.
    explicit RepeatedMemory(std::size_t bytes, std::size_t least = std::size_t{64} << 10);
    ~RepeatedMemory();
    RepeatedMemory(const RepeatedMemory&) = delete;
    RepeatedMemory& operator=(const RepeatedMemory&) = delete;

    std::span<std::byte> bytes() const { return {begin_, bytes_}; }

  private:
    std::byte* begin_ = nullptr;
    std::size_t bytes_;
    std::size_t mapped_ = 0;
};

}  // namespace csaud::sim
