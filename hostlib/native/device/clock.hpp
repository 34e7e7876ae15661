// The one clock of the device side; the protocol core is handed its readings and has none of its own.
#pragma once

#include <cstdint>
#include <ctime>

namespace csaud::device {

// Nanoseconds of CLOCK_MONOTONIC.
inline std::int64_t monotonic_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace csaud::device
