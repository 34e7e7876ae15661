// A long range of addresses over little memory: what is read and written there is of no concern, and stays
// in a cache.
#pragma once

#include <cstddef>
#include <span>

namespace csaud::sim {

class RepeatedMemory {
  public:
    // Throws std::system_error.
    explicit RepeatedMemory(std::size_t bytes);
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
