// Devices for Python.
#include <fcntl.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "addresses.hpp"
#include "bindings.hpp"
#include "ip6/icrc.hpp"
#include "ip6/ip6_device.hpp"
#include "onlink_device.hpp"
#include "own_process.hpp"
#include "qpn_claim.hpp"
#include "raw_device.hpp"
#include "shared_device.hpp"
#include "sockets.hpp"
#include "udp_device.hpp"
#include "xdp_device.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace csaud::bindings {
namespace {

// std::system_error becomes OSError, with errno, so that Python picks PermissionError and the like itself.
void translate_system_error(const std::exception_ptr& error, void*) {
    try {
        std::rethrow_exception(error);
    } catch (const std::system_error& e) {
        const nb::object args = nb::make_tuple(e.code().value(), e.what());
        PyErr_SetObject(PyExc_OSError, args.ptr());
    }
}

device::DeviceConfig make_config(std::uint32_t ipv4, std::uint32_t qpn, std::size_t packet_bytes,
                                 std::size_t batch, int receive_buffer, bool segmentation = false) {
    return {ipv4, qpn, packet_bytes, batch, receive_buffer, segmentation};
}

// A claimed QP number; released when the object goes.
struct QpnClaim {
    device::FileDescriptor fd;
};

}  // namespace

void bind_device(nb::module_& m) {
    nb::register_exception_translator(translate_system_error);
    nb::class_<device::Device>(m, "Device", "Carries packets; made by one of the classes below.")
        .def_prop_ro("tx_blocked", [](const device::Device& d) { return d.counters().tx_blocked; });

    nb::class_<device::RawDevice, device::Device>(m, "RawDevice",
                                                  "Raw IPv4 sockets; PermissionError without CAP_NET_RAW.")
        .def(nb::new_([](std::uint32_t ipv4, std::uint32_t qpn, std::size_t packet_bytes, std::size_t batch,
                         int receive_buffer) {
                 return device::make_in_own_process<device::RawDevice>(
                     make_config(ipv4, qpn, packet_bytes, batch, receive_buffer));
             }),
             "ipv4"_a, "qpn"_a, "packet_bytes"_a, "batch"_a, "receive_buffer"_a);

    nb::class_<device::xdp::XdpDevice, device::Device>(
        m, "XdpDevice",
        "Rings shared with the kernel: AF_XDP and BPF; root, one rank a queue of an interface.")
        .def(nb::new_([](std::uint32_t ipv4, std::uint32_t qpn, std::size_t packet_bytes, std::size_t batch,
                         int receive_buffer) {
                 return device::make_in_own_process<device::xdp::XdpDevice>(
                     make_config(ipv4, qpn, packet_bytes, batch, receive_buffer));
             }),
             "ipv4"_a, "qpn"_a, "packet_bytes"_a, "batch"_a, "receive_buffer"_a);

    nb::class_<device::UdpDevice, device::Device>(m, "UdpDevice",
                                                  "UDP sockets, no privileges, one rank an address.")
        .def(nb::new_([](std::uint32_t ipv4, std::uint32_t qpn, std::size_t packet_bytes, std::size_t batch,
                         int receive_buffer, bool segmentation) {
                 return device::make_in_own_process<device::UdpDevice>(
                     make_config(ipv4, qpn, packet_bytes, batch, receive_buffer, segmentation));
             }),
             "ipv4"_a, "qpn"_a, "packet_bytes"_a, "batch"_a, "receive_buffer"_a, "segmentation"_a = false)
        .def("set_segmentation", &device::UdpDevice::set_segmentation, "on"_a,
             "Whether packets go as trains that the kernel cuts; before anything is sent.");

    nb::class_<device::ip6::Ip6Device, device::Device>(
        m, "Ip6Device", "Raw or UDP sockets over IPv6; makes and checks the iCRC itself.")
        .def(nb::new_([](bool raw, const nb::bytes& address, std::uint32_t qpn, std::size_t packet_bytes,
                         std::size_t batch, int receive_buffer) {
                 return device::make_in_own_process<device::ip6::Ip6Device>(
                     raw ? device::ip6::Form::raw : device::ip6::Form::udp,
                     device::ip6::Config{to_in6(address), qpn, packet_bytes, batch, receive_buffer});
             }),
             "raw"_a, "address"_a, "qpn"_a, "packet_bytes"_a, "batch"_a, "receive_buffer"_a)
        .def(
            "set_names",
            [](device::ip6::Ip6Device& self, const AddressNames& names) { self.set_names(to_names(names)); },
            "names"_a,
            "The job's addresses, 16 bytes each, and by which 32-bit numbers the endpoint knows them; before "
            "the progress thread.");
    m.def(
        "ip6_icrc",
        [](const nb::bytes& source, const nb::bytes& destination, const nb::bytes& udp) {
            constexpr std::size_t kCovered = wire::kUdpBytes + wire::kBthBytes;
            if (udp.size() < kCovered) throw nb::value_error("ip6_icrc: shorter than UDP and BTH");
            const std::span body(static_cast<const std::byte*>(udp.data()), udp.size());
            const auto crc = device::ip6::icrc(to_in6(source), to_in6(destination), body, {}, {});
            return nb::bytes(crc.data(), crc.size());
        },
        "source"_a, "destination"_a, "udp"_a,
        "The iCRC over IPv6, as on the wire: addresses of 16 bytes, then from the UDP header up to the "
        "iCRC.");

    nb::class_<QpnClaim>(m, "QpnClaim", "A QP number that no other process at this address can claim.");
    m.def(
        "claim_qpn",
        [](const std::string& address, std::uint32_t qpn) -> std::optional<QpnClaim> {
            auto fd = device::claim_qpn(address, qpn);
            if (!fd) return std::nullopt;
            return QpnClaim{std::move(*fd)};
        },
        "address"_a, "qpn"_a, "The claim, or None where another process holds the number.");

    using device::onlink::OnLinkDevice;
    using LinkPeers = std::vector<std::tuple<std::uint16_t, std::uint32_t, std::uint16_t, bool>>;
    nb::class_<OnLinkDevice, device::Device>(
        m, "OnLinkDevice", "Another device, but packets to ranks on its own link go in trains.")
        .def(nb::new_([](std::shared_ptr<device::Device> under, std::uint32_t ipv4, std::size_t packet_bytes,
                         std::size_t batch, int receive_buffer) {
                 return device::make_in_own_process<OnLinkDevice>(
                     std::move(under), make_config(ipv4, 0, packet_bytes, batch, receive_buffer));
             }),
             "under"_a, "ipv4"_a, "packet_bytes"_a, "batch"_a, "receive_buffer"_a)
        .def_prop_ro("port", &OnLinkDevice::port)
        .def(
            "link",
            [](OnLinkDevice& self, const LinkPeers& peers, std::size_t path_mtu) {
                std::vector<device::onlink::LinkPeer> known;
                for (const auto& [rank, ipv4, port, udp] : peers) known.push_back({rank, ipv4, port, udp});
                self.link(known, path_mtu);
            },
            "peers"_a, "path_mtu"_a,
            "The job's other ranks that may be on the link: rank, address, port of their trains, and whether "
            "their devices have UDP sockets. While no progress thread runs.");

    using device::shared::SharedDevice;
    using LocalRanks = std::vector<std::tuple<std::uint16_t, std::uint32_t, std::uint32_t, std::string>>;
    nb::class_<SharedDevice, device::Device>(
        m, "SharedDevice", "Another device, but packets to ranks of this host go through shared memory.")
        .def(nb::new_([](std::shared_ptr<device::Device> under, const QpnClaim& claim, std::size_t ring_bytes,
                         std::size_t batch) {
                 device::FileDescriptor socket(::fcntl(claim.fd.get(), F_DUPFD_CLOEXEC, 0));
                 if (!socket) device::throw_errno("keep the claim of a QP number");
                 return device::make_in_own_process<SharedDevice>(std::move(under), std::move(socket),
                                                                  ring_bytes, batch);
             }),
             "under"_a, "claim"_a, "ring_bytes"_a, "batch"_a)
        .def(
            "share",
            [](SharedDevice& self, std::pair<std::uint32_t, std::uint32_t> own, const LocalRanks& ranks,
               bool all, std::size_t packet_bytes, std::size_t packets) {
                std::vector<device::shared::LocalRank> local;
                for (const auto& [rank, ipv4, qpn, address] : ranks)
                    local.push_back({rank, {ipv4, qpn}, address});
                self.share({own.first, own.second}, local, all, {packet_bytes, packets});
            },
            "own"_a, "ranks"_a, "all"_a, "packet_bytes"_a, "packets"_a,
            "The job's other ranks of this host: rank, address as the endpoint knows it, QP number, address; "
            "`own`: this rank's address and QP number; `all`: the job has no others; the size of a ring. "
            "While no progress thread runs.");
}

}  // namespace csaud::bindings
