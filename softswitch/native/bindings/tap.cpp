// Taps: frames that pass a port, for Python.
#include "csaud_switch/fabric/tap.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <string>
#include <vector>

#include "convert.hpp"
#include "csaud_switch/base/error.hpp"
#include "handles.hpp"

namespace csaud::sw::python {

using namespace nb::literals;
using Shared = std::shared_ptr<FabricHandle>;

namespace {

// A tap with the fabric that its port belongs to.
struct TapHandle {
    TapHandle(Shared fabric, Port& at, std::unique_ptr<Tap> made)
        : owner(std::move(fabric)), port(&at), tap(std::move(made)) {}
    TapHandle(const TapHandle&) = delete;
    TapHandle& operator=(const TapHandle&) = delete;
    ~TapHandle() { close(); }

    void close() {
        if (!tap) return;
        owner->locked([&] {
            std::erase(port->taps, tap.get());
            tap.reset();
        });
    }
    // The fabric is locked, as another thread may close it.
    Tap& opened() const {
        if (!tap) throw InvalidArgument("this tap is closed");
        return *tap;
    }

    Shared owner;
    Port* port;  // lives as long as its fabric, also when it was removed
    std::unique_ptr<Tap> tap;
};

nb::list take(const TapHandle& self) {
    const std::vector<TapFrame> frames = self.owner->locked([&] { return self.opened().take(); });
    nb::list out;
    for (const TapFrame& frame : frames)
        out.append(
            nb::make_tuple(frame.time, frame.in ? "in" : "out", from_bytes(frame.bytes), frame.length));
    return out;
}

}  // namespace

void bind_taps(nb::module_& m, nb::class_<FabricHandle>& fabric) {
    nb::class_<TapHandle>(m, "Tap")
        .def("fd",
             [](const TapHandle& self) {
                 return self.owner->locked([&] { return self.opened().descriptor(); });
             })
        .def("take", &take)
        .def_prop_ro(
            "seen",
            [](const TapHandle& self) { return self.owner->locked([&] { return self.opened().seen(); }); })
        .def_prop_ro(
            "dropped",
            [](const TapHandle& self) { return self.owner->locked([&] { return self.opened().dropped(); }); })
        .def("close", &TapHandle::close);
    fabric.def(
        "open_tap",
        [](const Shared& self, const std::string& at, PortId port, std::size_t capacity,
           std::uint32_t snaplen) {
            auto tap = std::make_unique<Tap>(capacity, snaplen);
            Port* found = self->locked([&] {
                Port& tapped = self->fabric.switch_at(at).port(port);
                tapped.taps.push_back(tap.get());
                return &tapped;
            });
            return std::make_unique<TapHandle>(self, *found, std::move(tap));
        },
        "switch"_a, "port"_a, nb::kw_only(), "capacity"_a = std::size_t{64} << 20, "snaplen"_a = 0);
}

}  // namespace csaud::sw::python
