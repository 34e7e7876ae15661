// The Python module csaud_softswitch._core; csaud_softswitch/_core.pyi is its reference.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <system_error>

#include "convert.hpp"
#include "csaud_switch/base/error.hpp"
#include "csaud_switch/io/packet_socket.hpp"
#include "handles.hpp"

namespace csaud::sw::python {

namespace {

using namespace nb::literals;
using Shared = std::shared_ptr<FabricHandle>;

void signal_packet_in(void* context, Switch& from) {
    const auto& fds = static_cast<FabricHandle*>(context)->packet_in_fds;
    const auto found = fds.find(&from);
    const std::uint64_t one = 1;
    // A full counter is readable too.
    if (found != fds.end() && ::write(found->second, &one, sizeof one) < 0) return;
}

}  // namespace

FabricHandle::FabricHandle(std::uint64_t seed) : fabric(seed), runner(fabric, lock) {
    fabric.on_packet_in = signal_packet_in;
    fabric.packet_in_context = this;
}

FabricHandle::~FabricHandle() {
    nb::gil_scoped_release release;
    runner.stop();
    for (const auto& [owner, fd] : packet_in_fds) ::close(fd);
}

void FabricHandle::require_virtual_time() const {
    if (runner.running())
        throw InvalidArgument("the fabric runs in real time: its clock is not the caller's");
    require_own_time();
}

void FabricHandle::require_own_time() const {
    if (fabric.carried()) throw InvalidArgument("the fabric is simulated: its clock is the simulation's");
}

namespace {

// Of the environment: comparing both ways of running a program needs no other program.
bool machine_code_is_wanted() {
    const char* said = std::getenv("CSAUD_SWITCH_COMPILE");
    return said == nullptr || std::strcmp(said, "0") != 0;
}

LinkConfig link_config(std::int64_t rate_bps, std::int64_t delay_ns, std::int64_t buffer_packets) {
    if (rate_bps < 0) throw InvalidArgument("rate_bps cannot be negative");
    if (delay_ns < 0) throw InvalidArgument("delay_ns cannot be negative");
    if (buffer_packets < 1 || buffer_packets > UINT32_MAX)
        throw InvalidArgument("buffer_packets must be at least 1");
    return {static_cast<std::uint64_t>(rate_bps), delay_ns, static_cast<std::uint32_t>(buffer_packets)};
}

void bind_fabric(nb::module_& m) {
    nb::class_<FabricHandle> cls(m, "Fabric");
    cls.def(nb::new_([](std::uint64_t seed) { return std::make_shared<FabricHandle>(seed); }), "seed"_a = 0);
    cls.def(
        "add_switch",
        [](const Shared& self, const std::string& name, std::uint64_t device_id, PortId cpu_port,
           PortId drop_port, std::uint32_t priority_queues, std::optional<std::uint64_t> seed) {
            Switch* added = self->locked([&] {
                self->catch_up();
                return &self->fabric.add_switch({name, device_id, cpu_port, drop_port, priority_queues,
                                                 seed.value_or(0), machine_code_is_wanted()},
                                                seed.has_value());
            });
            return SwitchHandle{self, added};
        },
        "name"_a, "device_id"_a, nb::kw_only(), "cpu_port"_a = 510, "drop_port"_a = 511,
        "priority_queues"_a = 8, "seed"_a = nb::none());
    cls.def(
        "add_veth_port",
        [](const Shared& self, const std::string& at, PortId port, const std::string& ifname,
           std::int64_t rate_bps, std::int64_t buffer_packets) {
            self->locked([&] {
                self->runner.watch_namespace();  // first, so that no change is missed
                Fabric& fabric = self->fabric;
                fabric.add_interface_port(fabric.switch_at(at), port,
                                          std::make_unique<PacketSocket>(ifname, fabric.pool()),
                                          link_config(rate_bps, 0, buffer_packets));
            });
            self->runner.kick();
        },
        "switch"_a, "port"_a, "ifname"_a, nb::kw_only(), "rate_bps"_a = 0, "buffer_packets"_a = 1024);
    cls.def(
        "add_memory_port",
        [](const Shared& self, const std::string& at, PortId port, std::int64_t rate_bps,
           std::int64_t buffer_packets) {
            self->locked([&] {
                self->fabric.add_memory_port(self->fabric.switch_at(at), port,
                                             link_config(rate_bps, 0, buffer_packets));
            });
        },
        "switch"_a, "port"_a, nb::kw_only(), "rate_bps"_a = 0, "buffer_packets"_a = 1024);
    cls.def(
        "add_link",
        [](const Shared& self, const std::string& a, PortId a_port, const std::string& b, PortId b_port,
           std::int64_t rate_bps, std::int64_t delay_ns, std::int64_t buffer_packets) {
            self->locked([&] {
                self->fabric.add_link(self->fabric.switch_at(a), a_port, self->fabric.switch_at(b), b_port,
                                      link_config(rate_bps, delay_ns, buffer_packets));
            });
        },
        "a"_a, "a_port"_a, "b"_a, "b_port"_a, nb::kw_only(), "rate_bps"_a = 0, "delay_ns"_a = 0,
        "buffer_packets"_a = 1024);
    cls.def(
        "remove_port",
        [](const Shared& self, const std::string& at, PortId port) {
            self->locked([&] { self->fabric.remove_port(self->fabric.switch_at(at), port); });
        },
        "switch"_a, "port"_a);
    cls.def(
        "set_port_queue",
        [](const Shared& self, const std::string& at, PortId port, std::optional<std::int64_t> rate_bps,
           std::optional<std::int64_t> buffer_packets) {
            self->locked([&] {
                const LinkConfig config = link_config(rate_bps.value_or(0), 0, buffer_packets.value_or(1));
                self->fabric.set_port_queue(self->fabric.switch_at(at), port,
                                            rate_bps ? &config.rate_bps : nullptr,
                                            buffer_packets ? &config.buffer_packets : nullptr);
            });
        },
        "switch"_a, "port"_a, nb::kw_only(), "rate_bps"_a = nb::none(), "buffer_packets"_a = nb::none());
    cls.def(
        "set_link",
        [](const Shared& self, const std::string& at, PortId port, bool up) {
            self->locked([&] { self->fabric.set_link(self->fabric.switch_at(at), port, up); });
        },
        "switch"_a, "port"_a, "up"_a);
    cls.def(
        "switch",
        [](const Shared& self, const std::string& name) {
            return SwitchHandle{self, self->locked([&] { return &self->fabric.switch_at(name); })};
        },
        "name"_a);
    cls.def("switches", [](const Shared& self) {
        return self->locked([&] {
            std::vector<std::string> names;
            for (const auto& found : self->fabric.switches()) names.push_back(found->config().name);
            return names;
        });
    });
    cls.def_prop_ro("now", [](const Shared& self) {
        return self->locked([&] {
            self->catch_up();
            return self->fabric.now();
        });
    });
    const auto inject_one = [](const Shared& self, const std::string& at, PortId port, nb::handle frame,
                               Nanos now) {
        const Bytes bytes = to_bytes(frame, "frame");
        self->locked([&] {
            self->require_virtual_time();
            self->fabric.inject(self->fabric.switch_at(at), port, bytes, now);
        });
    };
    cls.def("inject", inject_one, "switch"_a, "port"_a, "frame"_a, "now"_a);
    cls.def(
        "inject_many",
        [](const Shared& self, const std::string& at, PortId port, nb::sequence frames, Nanos now) {
            std::vector<Bytes> all;
            for (nb::handle frame : frames) all.push_back(to_bytes(frame, "frame"));
            self->locked([&] {
                self->require_virtual_time();
                Switch& target = self->fabric.switch_at(at);
                for (const Bytes& frame : all) self->fabric.inject(target, port, frame, now);
            });
        },
        "switch"_a, "port"_a, "frames"_a, "now"_a);
    cls.def(
        "advance",
        [](const Shared& self, Nanos now) {
            self->locked([&] {
                self->require_virtual_time();
                self->fabric.advance(now);
            });
        },
        "now"_a);
    cls.def("next_event", [](const Shared& self) -> std::optional<Nanos> {
        const Nanos next = self->locked([&] {
            self->require_virtual_time();
            return self->fabric.next_event();
        });
        return next == kNever ? std::nullopt : std::optional<Nanos>(next);
    });
    cls.def("poll", [](const Shared& self) {
        const std::vector<OutFrame> frames = self->locked([&] { return self->fabric.take_frames(); });
        nb::list out;
        for (const OutFrame& frame : frames)
            out.append(
                nb::make_tuple(frame.from->config().name, frame.port, from_bytes(frame.bytes), frame.time));
        return out;
    });
    cls.def("start", [](const Shared& self) {
        self->locked([&] { self->require_own_time(); });
        nb::gil_scoped_release release;
        self->runner.start();
    });
    cls.def("stop", [](const Shared& self) {
        nb::gil_scoped_release release;
        self->runner.stop();
    });
    cls.def_prop_ro("running", [](const Shared& self) { return self->runner.running(); });
    bind_taps(m, cls);
}

void bind_errors(nb::module_& m) {
    nb::exception<ProgramError>(m, "ProgramError", PyExc_ValueError);
    nb::exception<NotFound>(m, "NotFound", PyExc_LookupError);
    nb::exception<AlreadyExists>(m, "AlreadyExists", PyExc_LookupError);
    nb::exception<ResourceExhausted>(m, "ResourceExhausted", PyExc_LookupError);
    nb::exception<InvalidArgument>(m, "InvalidArgument", PyExc_LookupError);
    nb::exception<FailedPrecondition>(m, "FailedPrecondition", PyExc_LookupError);
    nb::register_exception_translator([](const std::exception_ptr& error, void*) {
        try {
            std::rethrow_exception(error);
        } catch (const UnknownName& e) {
            PyErr_SetString(PyExc_KeyError, e.what());
        } catch (const std::system_error& e) {
            PyErr_SetObject(PyExc_OSError, nb::make_tuple(e.code().value(), e.what()).ptr());
        }
    });
}

}  // namespace

}  // namespace csaud::sw::python

NB_MODULE(_core, m) {
    using namespace csaud::sw::python;
    m.doc() = "The native core of the embedded P4 switch.";
    bind_errors(m);
    nb::class_<SwitchHandle> switch_class(m, "Switch");
    bind_control(switch_class);
    bind_fabric(m);
}
