// Small parts of the core, by themselves.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "collectives/flow_times.hpp"
#include "csaud_host/base/crc32.hpp"
#include "csaud_host/base/crc32_fold.hpp"
#include "csaud_host/flow/credit.hpp"
#include "csaud_host/flow/window.hpp"
#include "csaud_host/loss/arrival_history.hpp"
#include "csaud_host/loss/path_gap.hpp"
#include "csaud_host/loss/reorder.hpp"
#include "csaud_host/loss/rtt.hpp"
#include "csaud_host/messages/reassembly.hpp"
#include "csaud_host/parity/parity_rows.hpp"
#include "testnet.hpp"

namespace nb = nanobind;
using namespace nb::literals;

// A vector of what cannot be copied says that it can.
template <>
struct nanobind::detail::is_copy_constructible<csaud::ArrivalStore> : std::false_type {};

namespace csaud::bindings {
namespace {

// What is kept of messages that took 1, 2, 3 ... `messages`.
std::vector<Nanos> kept_flow_times(Nanos messages) {
    collectives::FlowTimes times;
    for (Nanos took = 1; took <= messages; ++took) times.add(took);
    return times.all();
}

// Rows of parity over the last packets of a message.
std::vector<nb::bytes> parity_of(const nb::bytes& message, std::size_t payload, std::size_t covered,
                                 std::size_t rows) {
    const std::vector<std::byte> bytes = vector_of(message);
    const Cut cut{payload, bytes.size()};
    RowPool pool(payload);
    ParityRows sums;
    sums.open(pool, covered, rows);
    for (std::size_t column = 0; column < covered; ++column) {
        const std::size_t idx = cut.packets() - 1 - column;
        sums.add(pool, column, std::span(bytes).subspan(idx * payload, cut.length_of(idx)));
    }
    std::vector<nb::bytes> out;
    for (std::size_t row = 0; row < rows; ++row)
        out.push_back(to_bytes(sums.row(pool, row, cut.length_of(cut.packets() - covered))));
    return out;
}

// What a receiver makes of a message whose packets `missing` (columns) hold something else, from rows by
// number. It expected `expected` rows.
std::optional<nb::bytes> repaired(const nb::bytes& message, std::size_t payload, std::size_t covered,
                                  const std::map<std::size_t, nb::bytes>& rows,
                                  const std::vector<std::uint16_t>& missing, std::size_t expected) {
    std::vector<std::byte> bytes = vector_of(message);
    const Cut cut{payload, bytes.size()};
    RowPool pool(payload);
    ParityRows sums;
    sums.open(pool, covered, expected);
    for (std::size_t column = 0; column < covered; ++column) {
        const std::size_t idx = cut.packets() - 1 - column;
        if (std::ranges::find(missing, column) == missing.end())
            sums.add(pool, column, std::span(bytes).subspan(idx * payload, cut.length_of(idx)));
    }
    for (const auto& [row, sent] : rows) sums.add_sent(pool, row, vector_of(sent), cut, bytes);
    if (!sums.solve(pool, missing, cut, bytes)) return std::nullopt;
    return to_bytes(bytes);
}

// CRC-32 of `bytes` from `begin` on: as packets have it, and by each way that this processor has.
std::vector<std::uint32_t> crc32_by_all(std::uint32_t seed, const nb::bytes& bytes, std::size_t begin,
                                        std::size_t size) {
    const std::span data(reinterpret_cast<const std::byte*>(bytes.c_str()), bytes.size());
    const std::span part = data.subspan(begin, size);
    std::vector<std::uint32_t> found{crc32(seed, part)};
    for (const FoldCrc32& fold : crc32_folders())
        if (size >= kLeastFolded) found.push_back(~fold.plain(~seed, part));
    return found;
}

// The same with the bits of `ones` in its first bytes.
std::vector<std::uint32_t> masked_crc32_by_all(std::uint32_t seed, const nb::bytes& bytes, std::size_t begin,
                                               std::size_t size, const nb::bytes& ones) {
    const std::span data(reinterpret_cast<const std::byte*>(bytes.c_str()), bytes.size());
    const std::span part = data.subspan(begin, size);
    Ones mask;
    if (ones.size() != mask.bytes.size()) throw std::invalid_argument("ones: not as many bytes as there are");
    std::memcpy(mask.bytes.data(), ones.c_str(), ones.size());
    std::vector<std::uint32_t> found{masked_crc32(seed, part, mask)};
    for (const FoldCrc32& fold : crc32_folders()) found.push_back(fold.masked(seed, part, mask));
    return found;
}

}  // namespace

void bind_parts(nb::module_& t) {
    t.def("crc32_by_all", &crc32_by_all, "seed"_a, "bytes"_a, "begin"_a, "size"_a);
    t.def("masked_crc32_by_all", &masked_crc32_by_all, "seed"_a, "bytes"_a, "begin"_a, "size"_a, "ones"_a);
    t.def("kept_flow_times", &kept_flow_times, "messages"_a);
    t.def("parity_of", &parity_of, "message"_a, "payload"_a, "covered"_a, "rows"_a);
    t.def("repaired", &repaired, "message"_a, "payload"_a, "covered"_a, "rows"_a, "missing"_a, "expected"_a);
    nb::class_<Reassembly>(t, "Reassembly", "Arrival state of one message.")
        .def(
            "__init__",
            [](Reassembly* self, std::size_t total) {
                new (self) Reassembly();
                self->reset(total);
            },
            "total"_a)
        .def("mark", &Reassembly::mark, "idx"_a)
        .def("has", &Reassembly::has, "idx"_a)
        .def("next_missing", &Reassembly::next_missing, "start"_a, "end"_a)
        .def_prop_ro("complete", &Reassembly::complete)
        .def_prop_ro("received", &Reassembly::received)
        .def_prop_ro("first_missing", &Reassembly::first_missing)
        .def_prop_ro("high", &Reassembly::high)
        .def_prop_ro("bitmap", [](const Reassembly& r) {
            std::vector<std::byte> out(Bitmap::wire_bytes(r.total()));
            r.bitmap().write(out, r.total());
            return to_bytes(out);
        });
    nb::class_<Bitmap>(t, "Bitmap")
        .def(nb::init<>())
        .def("set", &Bitmap::set, "i"_a)
        .def("test", &Bitmap::test, "i"_a)
        .def("count", &Bitmap::count)
        .def("first_clear", &Bitmap::first_clear, "start"_a, "end"_a)
        .def(
            "merge",
            [](Bitmap& b, const nb::bytes& in, std::size_t bits) { return b.merge(vector_of(in), bits); },
            "wire"_a, "bits"_a)
        .def(
            "write",
            [](const Bitmap& b, std::size_t bits) {
                std::vector<std::byte> out(Bitmap::wire_bytes(bits));
                b.write(out, bits);
                return to_bytes(out);
            },
            "bits"_a);
    nb::class_<ArrivalStore>(t, "ArrivalStore").def(nb::init<>());
    nb::class_<ArrivalHistory>(t, "ArrivalHistory", "When what of one message arrived.")
        .def(nb::init<>())
        .def(
            "note",
            [](ArrivalHistory& a, ArrivalStore& store, Nanos now, std::uint16_t high, bool holes) {
                a.note(Serial(32), store, now, high, static_cast<std::uint32_t>(now), holes, 0);
            },
            "store"_a, "now"_a, "high"_a, "holes"_a)
        .def("passed", &ArrivalHistory::passed, "idx"_a)
        .def("reset", &ArrivalHistory::reset, "store"_a);
    nb::class_<PathTracker>(t, "PathTracker", "Holes in path_seq of one path.")
        .def(nb::init<bool>(), "known"_a = true)
        .def(
            "on_data",
            [](PathTracker& p, unsigned bits, std::uint16_t seq, bool ordered) {
                const wire::PathGap gap = p.on_data(Serial(bits), seq, ordered);
                return nb::make_tuple(gap.first, gap.count);
            },
            "bits"_a, "seq"_a, "ordered"_a)
        .def(
            "on_loss", [](PathTracker& p, unsigned bits, std::uint16_t seq) { p.on_loss(Serial(bits), seq); },
            "bits"_a, "seq"_a);
    nb::class_<ReorderEstimator>(t, "ReorderEstimator")
        .def(nb::init<>())
        .def("filled", &ReorderEstimator::filled, "late"_a, "path"_a, "paths"_a)
        .def("arrived", &ReorderEstimator::arrived, "now"_a, "rtt"_a)
        .def_prop_ro("delta", &ReorderEstimator::delta)
        .def("sigma", &ReorderEstimator::sigma, "rtt"_a);
    nb::class_<QueueingEstimator>(t, "QueueingEstimator")
        .def(nb::init<>())
        .def("sample", &QueueingEstimator::sample, "late"_a)
        .def_prop_ro("allowance", &QueueingEstimator::allowance);
    nb::class_<CreditGrant>(t, "CreditGrant", "What a receiver lets one sender be ahead by.")
        .def(nb::init<std::uint32_t>(), "initial"_a)
        .def(
            "consumed",
            [](CreditGrant& g, std::uint32_t packets, std::uint32_t window, std::uint64_t budget) {
                CreditBudget left{budget};
                g.consumed(packets, window, left);
                return left.extra_left;
            },
            "packets"_a, "window"_a, "budget"_a, "Packets of the budget that are left.")
        .def_prop_ro("open", &CreditGrant::open);
    nb::class_<ReceiveWindow>(t, "ReceiveWindow", "How many packets of one sender may be under way to us.")
        .def(nb::init<std::uint32_t>(), "most"_a)
        .def("marked", &ReceiveWindow::marked)
        .def("sample", &ReceiveWindow::sample, "late"_a)
        .def("judge", &ReceiveWindow::judge, "target"_a)
        .def("arrived", &ReceiveWindow::arrived, "packets"_a)
        .def("set_share", &ReceiveWindow::set_share, "config"_a, "senders"_a, "alone"_a = false)
        .def_prop_ro("size", &ReceiveWindow::size)
        .def_prop_ro("worth_telling", &ReceiveWindow::worth_telling)
        .def("tell", [](ReceiveWindow& w) {
            const wire::WindowNews news = w.tell(Serial(16));
            return nb::make_tuple(news.arrived, news.size);
        });
}

}  // namespace csaud::bindings
