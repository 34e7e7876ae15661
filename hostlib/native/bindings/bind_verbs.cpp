// RDMA devices for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "addresses.hpp"
#include "bindings.hpp"

#ifdef CSAUD_HAVE_VERBS
#include "discovery.hpp"
#include "own_process.hpp"
#include "verbs_device.hpp"
#endif

namespace nb = nanobind;
using namespace nb::literals;

namespace csaud::bindings {

#ifdef CSAUD_HAVE_VERBS
namespace {

namespace verbs = device::verbs;

nb::dict dict_of(const verbs::PortFacts& port) {
    nb::dict r;
    r["number"] = port.number;
    r["active"] = port.active;
    r["ethernet"] = port.ethernet;
    r["mtu"] = port.mtu;
    r["max_mtu"] = port.max_mtu;
    nb::list gids;
    for (const verbs::GidFacts& gid : port.gids)
        gids.append(nb::make_tuple(gid.index, gid.type, nb::bytes(gid.address.data(), gid.address.size()),
                                   gid.interface));
    r["gids"] = gids;
    return r;
}

nb::dict dict_of(const verbs::DeviceFacts& device) {
    nb::dict r;
    r["name"] = device.name;
    r["error"] = device.error;
    r["max_qp"] = device.max_qp;
    r["max_qp_wr"] = device.max_qp_wr;
    r["max_sge"] = device.max_sge;
    r["max_cqe"] = device.max_cqe;
    r["max_ah"] = device.max_ah;
    r["max_mr"] = device.max_mr;
    r["max_mr_bytes"] = device.max_mr_bytes;
    nb::list ports;
    for (const verbs::PortFacts& port : device.ports) ports.append(dict_of(port));
    r["ports"] = ports;
    return r;
}

}  // namespace

void bind_verbs(nb::module_& m) {
    m.attr("HAVE_VERBS") = true;
    m.def(
        "verbs_devices",
        [] {
            nb::list result;
            for (const verbs::DeviceFacts& device : verbs::find_devices()) result.append(dict_of(device));
            return result;
        },
        "RDMA devices that libibverbs knows; RuntimeError where it is missing.");
    nb::class_<verbs::VerbsDevice, device::Device>(
        m, "VerbsDevice", "A UD queue pair on an RDMA device; the family of its GID is that of its packets.")
        .def(nb::new_([](const std::string& device, std::uint8_t port, std::uint8_t gid_index,
                         const nb::bytes& gid, std::size_t path_mtu, std::size_t batch,
                         std::size_t receive_buffer) {
                 return device::make_in_own_process<verbs::VerbsDevice>(
                     verbs::VerbsConfig{.device = device,
                                        .port = port,
                                        .gid_index = gid_index,
                                        .gid = to_in6(gid),
                                        .path_mtu = path_mtu,
                                        .batch = batch,
                                        .receive_buffer = receive_buffer});
             }),
             "device"_a, "port"_a, "gid_index"_a, "gid"_a, "path_mtu"_a, "batch"_a, "receive_buffer"_a)
        .def("start", &verbs::VerbsDevice::start, "qkey"_a,
             "Receive and send under this Q_Key from now on; before the progress thread.")
        .def(
            "set_names",
            [](verbs::VerbsDevice& self, const AddressNames& names) { self.set_names(to_names(names)); },
            "names"_a,
            "Over IPv6: the job's addresses, 16 bytes each, and by which 32-bit numbers the endpoint knows "
            "them; while no thread drives it.")
        .def_prop_ro("qpn", &verbs::VerbsDevice::qpn)
        .def_prop_ro("has_loss_port", &verbs::VerbsDevice::has_loss_port,
                     "whether cut packets of the first form come to this process");
}
#else
void bind_verbs(nb::module_& m) {
    m.attr("HAVE_VERBS") = false;
}
#endif

}  // namespace csaud::bindings
