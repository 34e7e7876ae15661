// Columns of Python's own, numpy arrays with one element a row, of what simulations hold; and what they are
// given.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "csaud_sim/hosts/flows.hpp"
#include "csaud_sim/network/trace.hpp"

namespace csaud::sim::python {

namespace nb = nanobind;

template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
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

inline std::vector<Flow> flows_from(const Column<std::uint16_t>& src, const Column<std::uint16_t>& dst,
                                    const Column<std::uint64_t>& bytes, const Column<std::int64_t>& start_ns,
                                    std::uint8_t cls, Nanos receive_delay) {
    const std::size_t count = src.size();
    if (dst.size() != count || bytes.size() != count || start_ns.size() != count)
        throw nb::value_error("columns of different lengths");
    if (cls > 4) throw nb::value_error("cls lies between 0 and 4");
    if (receive_delay < 0) throw nb::value_error("receive_delay_ns cannot be negative");
    std::vector<Flow> flows(count);
    for (std::size_t i = 0; i < count; ++i) {
        flows[i].src = src(i);
        flows[i].dst = dst(i);
        flows[i].bytes = bytes(i);
        flows[i].start = start_ns(i);
        flows[i].cls = cls;
        flows[i].receive_delay = receive_delay;
    }
    return flows;
}

inline nb::dict columns_of(const std::vector<Flow>& flows) {
    nb::dict columns;
    columns["src"] = column<std::uint16_t>(flows, [](const Flow& f) { return f.src; });
    columns["dst"] = column<std::uint16_t>(flows, [](const Flow& f) { return f.dst; });
    columns["bytes"] = column<std::uint64_t>(flows, [](const Flow& f) { return f.bytes; });
    columns["start_ns"] = column<std::int64_t>(flows, [](const Flow& f) { return f.start; });
    columns["finished_ns"] = column<double>(flows, [](const Flow& f) { return when(f.finished); });
    columns["acked_ns"] = column<double>(flows, [](const Flow& f) { return when(f.acked); });
    columns["status"] = column<std::uint8_t>(flows, [](const Flow& f) { return f.status; });
    return columns;
}

inline nb::dict columns_of(const Trace& trace) {
    const std::vector<TraceEntry>& entries = trace.entries();
    nb::dict columns;
    columns["time_ns"] = column<std::int64_t>(entries, [](const TraceEntry& e) { return e.time; });
    columns["place"] = column<std::uint32_t>(entries, [](const TraceEntry& e) { return e.place; });
    columns["kind"] = column<std::uint8_t>(entries, [](const TraceEntry& e) { return e.kind; });
    columns["bytes"] = column<std::uint32_t>(entries, [](const TraceEntry& e) { return e.bytes; });
    return columns;
}

inline const Trace& needed(const std::optional<Trace>& trace) {
    if (!trace) throw nb::value_error("the simulation was made without a trace");
    return *trace;
}

}  // namespace csaud::sim::python
