// Collectives: plans, step times, executions, reductions.
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "collectives/reduction.hpp"
#include "held_execution.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace csaud::bindings {
namespace {

using collectives::Collective;
using collectives::Combine;
using collectives::Element;
using collectives::Execution;
using collectives::Expected;
using collectives::Operation;
using collectives::Operator;
using collectives::Plan;
using collectives::Region;
using collectives::StepTimes;

// As in Python: (kind, peer, step, chunk, fan_in, regions, after).
using RegionTuple = std::tuple<int, std::uint64_t, std::uint64_t>;
using OperationTuple = std::tuple<int, std::uint16_t, std::uint16_t, std::uint16_t, std::uint16_t,
                                  std::vector<RegionTuple>, std::vector<std::uint32_t>>;

constexpr std::array kElements = {
    std::pair{"float16", Element::float16}, std::pair{"bfloat16", Element::bfloat16},
    std::pair{"float32", Element::float32}, std::pair{"float64", Element::float64},
    std::pair{"int8", Element::int8},       std::pair{"int16", Element::int16},
    std::pair{"int32", Element::int32},     std::pair{"int64", Element::int64},
    std::pair{"uint8", Element::uint8},     std::pair{"uint16", Element::uint16},
    std::pair{"uint32", Element::uint32},   std::pair{"uint64", Element::uint64},
    std::pair{"bool", Element::boolean},
};
constexpr std::array kOperators = {
    std::pair{"sum", Operator::sum},     std::pair{"product", Operator::product},
    std::pair{"min", Operator::min},     std::pair{"max", Operator::max},
    std::pair{"and", Operator::bit_and}, std::pair{"or", Operator::bit_or},
    std::pair{"xor", Operator::bit_xor},
};

template <class Table>
auto by_name(const Table& table, std::string_view name, const char* what) {
    for (const auto& [known, value] : table) {
        if (name == known) return value;
    }
    throw std::invalid_argument("no " + std::string(what) + " " + std::string(name));
}

Combine reduction_of(const std::string& op, const std::string& element, bool baseline) {
    const Operator which = by_name(kOperators, op, "reduction");
    const Element of = by_name(kElements, element, "element type");
    const Combine found =
        baseline ? collectives::baseline_reduction(which, of) : collectives::reduction(which, of);
    if (found == nullptr) throw std::invalid_argument("no reduction " + op + " of " + element);
    return found;
}

Region region_of(const RegionTuple& tuple) {
    const auto& [place, start, count] = tuple;
    return {static_cast<collectives::Place>(place), start, count};
}

Plan plan_of(const std::vector<OperationTuple>& tuples, std::uint64_t scratch, std::uint32_t steps) {
    std::vector<Operation> operations;
    operations.reserve(tuples.size());
    for (const auto& [kind, peer, step, chunk, fan_in, regions, after] : tuples) {
        Operation op;
        op.kind = static_cast<collectives::Kind>(kind);
        op.peer = peer;
        op.step = step;
        op.chunk = chunk;
        op.fan_in = fan_in;
        op.region = region_of(regions.at(0));
        if (op.kind == collectives::Kind::reduce) {
            op.first = region_of(regions.at(1));
            op.second = region_of(regions.at(2));
        }
        op.after = after;
        operations.push_back(std::move(op));
    }
    return {std::move(operations), scratch, steps};
}

void combine(const std::string& op, const std::string& element, nb::handle first, nb::handle second,
             nb::handle into, bool baseline) {
    const Combine found = reduction_of(op, element, baseline);
    const HeldBuffer a(first, false), b(second, false), c(into, true);
    if (a.whole().size() != c.whole().size() || b.whole().size() != c.whole().size())
        throw std::invalid_argument("combine: buffers of different sizes");
    const std::size_t count = c.whole().size() / bytes_of(by_name(kElements, element, "element type"));
    found(a.whole().data(), b.whole().data(), c.part(0, c.whole().size()).data(), count);
}

void divide(const std::string& element, nb::handle values, double divisor) {
    const Element of = by_name(kElements, element, "element type");
    const collectives::Divide found = collectives::division(of);
    if (found == nullptr) throw std::invalid_argument("no division of " + element);
    const HeldBuffer held(values, true);
    const std::size_t bytes = held.whole().size();
    const std::span<std::byte> memory = held.part(0, bytes);
    const nb::gil_scoped_release release;
    found(memory.data(), bytes / bytes_of(of), divisor);
}

void bind_times(nb::module_& m) {
    nb::class_<Expected>(
        m, "Expected",
        "When a message is expected, ns: start of its first packet (0: not known), and deviation of that.")
        .def(
            "__init__",
            [](Expected* self, Nanos start, Nanos jitter) {
                new (self) Expected{start, jitter};
            },
            "start"_a = 0, "jitter"_a = 0)
        .def_ro("start", &Expected::start)
        .def_ro("jitter", &Expected::jitter)
        .def(nb::self == nb::self)
        .def("__repr__", [](const Expected& e) {
            return "Expected(start=" + std::to_string(e.start) + ", jitter=" + std::to_string(e.jitter) + ")";
        });
    nb::class_<StepTimes>(m, "StepTimes",
                          "When the steps of one schedule end, after its begin: mean and deviation over its "
                          "runs. Not to be touched while such a run is in flight.")
        .def(nb::init<>())
        .def("expect", &StepTimes::expect, "began"_a, "step"_a,
             "Of a message of `step` in a run that began at `began`: it starts where the step before ends.")
        .def(
            "learn",
            [](StepTimes& self, Nanos began, const std::vector<Nanos>& ended) { self.learn(began, ended); },
            "began"_a, "ended"_a,
            "A run is over; `ended` holds when each step did (0: nothing was received in it).");
}

}  // namespace

void bind_collectives(nb::module_& m) {
    bind_times(m);
    m.attr("DIRECT") = collectives::kDirect;

    nb::class_<Plan>(m, "Plan", "A schedule as the executor takes it (csaud.collectives.plan).")
        .def(
            "__init__",
            [](Plan* self, const std::vector<OperationTuple>& operations, std::uint64_t scratch,
               std::uint32_t steps) { new (self) Plan(plan_of(operations, scratch, steps)); },
            "operations"_a, "scratch"_a, "steps"_a);

    nb::class_<Collective>(m, "Collective", "What the runs of one collective have in common.")
        .def(
            "__init__",
            [](Collective* self, std::shared_ptr<Plan> plan, std::size_t element_bytes,
               std::vector<std::uint16_t> ranks, std::uint16_t comm, std::uint16_t step_mark,
               std::uint16_t chunk_mark, std::uint8_t cls, bool barrier, const std::string& op,
               const std::string& element, std::shared_ptr<StepTimes> times) {
                const Combine found = op.empty() ? nullptr : reduction_of(op, element, false);
                new (self)
                    Collective{std::move(plan), element_bytes, found, std::move(ranks), comm,
                               step_mark,       chunk_mark,    cls,   barrier,          std::move(times)};
            },
            "plan"_a, "element_bytes"_a, "ranks"_a, "comm"_a = 0, "step_mark"_a = 0, "chunk_mark"_a = 0,
            "cls"_a = 4, "barrier"_a = false, "op"_a = "", "element"_a = "", "times"_a = nb::none());

    nb::class_<HeldExecution>(m, "Execution", "One run of a collective, on the caller's buffers.")
        .def(
            "__init__",
            [](HeldExecution* self, std::shared_ptr<Collective> collective, std::uint32_t number,
               nb::handle data, nb::handle source, nb::handle scratch) {
                new (self) HeldExecution(std::move(collective), number, data, source, scratch);
            },
            "collective"_a, "number"_a, "data"_a.none(), "source"_a.none() = nb::none(),
            "scratch"_a.none() = nb::none())
        .def_prop_ro(
            "ended", [](const HeldExecution& e) { return e.native().state() == Execution::State::ended; },
            "Every operation has ended.")
        .def_prop_ro(
            "failure",
            [](const HeldExecution& e) -> std::optional<Completion> {
                if (e.native().state() != Execution::State::failed) return std::nullopt;
                return e.native().failure();
            },
            "The completion that ended it, of whichever transfer; None: none has.")
        .def_prop_ro(
            "ended_ns", [](const HeldExecution& e) { return e.native().ended_at(); },
            "When it ended, of CLOCK_MONOTONIC.")
        .def("release", &HeldExecution::release,
             "Gives the buffers back once nothing works on them; False: something may.");

    m.def("combine", &combine, "op"_a, "element"_a, "first"_a, "second"_a, "into"_a, "baseline"_a = false,
          "into = first (op) second, as executions reduce; `baseline`: by loops for any processor.");
    m.def("divide", &divide, "element"_a, "values"_a, "divisor"_a,
          "values /= divisor, of floats, without Python's lock; 16-bit ones in 32 bits, rounded once.");
}

}  // namespace csaud::bindings
