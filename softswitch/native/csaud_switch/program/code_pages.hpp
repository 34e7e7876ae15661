// Memory that machine code can be run from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace csaud::sw {

// Pages of code, read-only and executable.
class CodePages {
  public:
    CodePages() = default;
    ~CodePages();
    CodePages(const CodePages&) = delete;
    CodePages& operator=(const CodePages&) = delete;

    // False where the system does not let a process make code.
    bool load(const std::vector<std::uint8_t>& code);
    const std::uint8_t* at(std::size_t offset) const { return base_ + offset; }

  private:
    std::uint8_t* base_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace csaud::sw
