// What finds out who is on a device's own link, without a socket.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <optional>
#include <tuple>

#include "link_trial.hpp"
#include "question.hpp"
#include "testnet.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace csaud::bindings {
namespace {

using device::onlink::Kind;
using device::onlink::LinkTrial;
using device::onlink::Question;
using Read = std::optional<std::tuple<Kind, std::uint8_t, std::uint64_t>>;

Read parts_of(const std::optional<Question>& question) {
    if (!question) return std::nullopt;
    return std::tuple{question->kind, question->padding, question->nonce};
}

}  // namespace

void bind_onlink(nb::module_& t) {
    nb::enum_<Kind>(t, "QuestionKind")
        .value("question", Kind::question)
        .value("padding", Kind::padding)
        .value("answer", Kind::answer);
    nb::class_<LinkTrial>(t, "LinkTrial")
        .def(nb::init<std::uint64_t>(), "nonce"_a)
        .def("on_link", &LinkTrial::on_link, "now"_a)
        .def(
            "due", [](LinkTrial& trial, Nanos now) { return parts_of(trial.due(now)); }, "now"_a)
        .def(
            "answered",
            [](LinkTrial& trial, std::uint8_t padding, std::uint64_t nonce, Nanos now) {
                trial.answered({Kind::answer, padding, nonce}, now);
            },
            "padding"_a, "nonce"_a, "now"_a)
        .def("asked", &LinkTrial::asked);
    t.def(
        "encode_question",
        [](Kind kind, std::uint8_t padding, std::uint64_t nonce) {
            const auto bytes = device::onlink::encode({kind, padding, nonce});
            return nb::bytes(bytes.data(), bytes.size());
        },
        "kind"_a, "padding"_a, "nonce"_a);
    t.def(
        "decode_question",
        [](const nb::bytes& datagram) { return parts_of(device::onlink::decode(vector_of(datagram))); },
        "datagram"_a);
}

}  // namespace csaud::bindings
