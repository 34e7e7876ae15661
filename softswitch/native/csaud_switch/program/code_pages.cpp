#include "csaud_switch/program/code_pages.hpp"

#include <sys/mman.h>

#include <cstring>

namespace csaud::sw {

CodePages::~CodePages() {
    if (base_ != nullptr) ::munmap(base_, size_);
}

bool CodePages::load(const std::vector<std::uint8_t>& code) {
    void* made = ::mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return false;
    base_ = static_cast<std::uint8_t*>(made);
    size_ = code.size();
    std::memcpy(base_, code.data(), size_);
    return ::mprotect(base_, size_, PROT_READ | PROT_EXEC) == 0;
}

}  // namespace csaud::sw
