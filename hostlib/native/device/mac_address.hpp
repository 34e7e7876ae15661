#pragma once

#include <array>
#include <cstddef>

namespace csaud::device {

using MacAddress = std::array<std::byte, 6>;

}  // namespace csaud::device
