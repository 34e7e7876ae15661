// Copies of packets that end where memory does: whoever reads on behind one of them is ended by SIGSEGV, also
// without a sanitizer.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>

namespace csaud::testing {

class EdgeOfMemory {
  public:
    // For so many packets, each of at most `longest` bytes.
    EdgeOfMemory(std::size_t packets, std::size_t longest)
        : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
          room_((longest + page_ - 1) / page_ * page_),
          bytes_(std::max(packets, std::size_t{1}) * (room_ + page_)),
          next_(map(bytes_)),
          begin_(next_) {}
    ~EdgeOfMemory() { ::munmap(begin_, bytes_); }
    EdgeOfMemory(const EdgeOfMemory&) = delete;
    EdgeOfMemory& operator=(const EdgeOfMemory&) = delete;

    std::span<const std::byte> copy(std::span<const std::byte> packet) {
        std::byte* const edge = next_ + room_;
        if (::mprotect(edge, page_, PROT_NONE) != 0) throw std::bad_alloc();
        next_ = edge + page_;
        std::byte* const begin = edge - packet.size();
        if (!packet.empty()) std::memcpy(begin, packet.data(), packet.size());
        return {begin, packet.size()};
    }

  private:
    static std::byte* map(std::size_t bytes) {
        void* const found =
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (found == MAP_FAILED) throw std::bad_alloc();
        return static_cast<std::byte*>(found);
    }

    std::size_t page_;
    std::size_t room_;
    std::size_t bytes_;
    std::byte* next_;
    std::byte* begin_;
};

}  // namespace csaud::testing
