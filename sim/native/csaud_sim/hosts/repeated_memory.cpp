#include "csaud_sim/hosts/repeated_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <system_error>

namespace csaud::sim {

namespace {

constexpr std::size_t kMappings = 4096;  // of the 65,530 that Linux gives a process

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

RepeatedMemory::RepeatedMemory(std::size_t bytes, std::size_t least) : bytes_(bytes) {
    const std::size_t once = std::max(least, std::bit_ceil(bytes / kMappings + 1));
    mapped_ = (std::max<std::size_t>(bytes, 1) + once - 1) / once * once;
    const int file = ::memfd_create("csaud-sim-payloads", MFD_CLOEXEC);
    if (file < 0) fail("memory for payloads");
    void* const range =
        ::mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool made = range != MAP_FAILED && ::ftruncate(file, static_cast<off_t>(once)) == 0;
    for (std::size_t at = 0; made && at < mapped_; at += once)
        made = ::mmap(static_cast<std::byte*>(range) + at, once, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
    const int error = errno;
    ::close(file);
    if (!made) {
        if (range != MAP_FAILED) ::munmap(range, mapped_);
        errno = error;
        fail("memory for payloads");
    }
    begin_ = static_cast<std::byte*>(range);
}

RepeatedMemory::~RepeatedMemory() {
    ::munmap(begin_, mapped_);
}

}  // namespace csaud::sim
