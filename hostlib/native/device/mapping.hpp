// Memory shared with the kernel, or with another process.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <string>
#include <utility>

#include "sockets.hpp"

namespace csaud::device {

class Mapping {
  public:
    Mapping() = default;
    // Throws std::system_error with `what` in front.
    Mapping(std::size_t bytes, int protection, int flags, int fd, off_t offset, const std::string& what)
        : data_(::mmap(nullptr, bytes, protection, flags, fd, offset)), bytes_(bytes) {
        if (data_ != MAP_FAILED) return;
        data_ = nullptr;
        throw_errno(what);
    }
    ~Mapping() {
        if (data_ != nullptr) ::munmap(data_, bytes_);
    }
    Mapping(Mapping&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    std::byte* data() const { return static_cast<std::byte*>(data_); }
    std::size_t size() const { return bytes_; }

  private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace csaud::device
