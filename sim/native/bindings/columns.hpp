// Columns of Python's own: numpy arrays, one element a row.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <limits>
#include <memory>
#include <vector>

#include "csaud_sim/engine/engine.hpp"

namespace csaud::sim {

namespace nb = nanobind;

template <class T>
using Made = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// An array of Python's own of what `of` says of each row.
template <class T, class Rows, class Of>
Made<T> column(const Rows& rows, Of of) {
    auto values = std::make_unique<std::vector<T>>();
    values->reserve(rows.size());
    for (const auto& row : rows) values->push_back(static_cast<T>(of(row)));
    nb::capsule owner(values.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    std::vector<T>& made = *values.release();
    return Made<T>(made.data(), {made.size()}, owner);
}

inline double when(Nanos time) {
    return time < 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(time);
}

}  // namespace csaud::sim
