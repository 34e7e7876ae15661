#include "held_buffers.hpp"

#include <stdexcept>
#include <string>

namespace csaud::bindings {

std::span<std::byte> HeldBuffer::part(std::size_t offset, std::size_t length) const {
    const auto size = static_cast<std::size_t>(view_.len);
    if (offset > size || length > size - offset)
        throw std::out_of_range("bytes " + std::to_string(offset) + " to " + std::to_string(offset + length) +
                                " of a buffer of " + std::to_string(size) + " bytes");
    return {static_cast<std::byte*>(view_.buf) + offset, length};
}

}  // namespace csaud::bindings
