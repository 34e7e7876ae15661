#include "discovery.hpp"

#include <net/if.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <span>

#include "library.hpp"

namespace csaud::device::verbs {
namespace {

constexpr std::size_t kMostGids = 1024;

// enum ibv_mtu counts in powers of two.
int mtu_bytes(ibv_mtu mtu) {
    return 128 << static_cast<int>(mtu);
}

std::string interface_name(unsigned index) {
    std::array<char, IF_NAMESIZE> name{};
    return index != 0 && ::if_indextoname(index, name.data()) != nullptr ? name.data() : "";
}

// The entries in use, each with its port: a call for all of them, since a table has a thousand places.
void add_gids(ibv_context* context, DeviceFacts& facts) {
    std::vector<ibv_gid_entry> entries(kMostGids);
    const ssize_t count =
        library().query_gid_table(context, entries.data(), entries.size(), 0, sizeof(ibv_gid_entry));
    if (count < 0) throw_error(static_cast<int>(-count), "read the GIDs of RDMA device " + facts.name);
    for (const ibv_gid_entry& entry : std::span(entries).first(static_cast<std::size_t>(count))) {
        GidFacts gid;
        gid.index = static_cast<int>(entry.gid_index);
        gid.type = static_cast<int>(entry.gid_type);
        std::copy_n(entry.gid.raw, gid.address.size(), gid.address.begin());
        gid.interface = interface_name(entry.ndev_ifindex);
        facts.ports.at(entry.port_num - 1).gids.push_back(gid);
    }
}

void describe(DeviceFacts& facts) {
    const Context context = open(facts.name);
    ibv_device_attr limits{};
    int error = library().query_device(context.get(), &limits);
    if (error != 0) throw_error(error, "query RDMA device " + facts.name);
    facts.max_qp = limits.max_qp;
    facts.max_qp_wr = limits.max_qp_wr;
    facts.max_sge = limits.max_sge;
    facts.max_cqe = limits.max_cqe;
    facts.max_ah = limits.max_ah;
    facts.max_mr = limits.max_mr;
    facts.max_mr_bytes = limits.max_mr_size;
    for (int number = 1; number <= limits.phys_port_cnt; ++number) {
        ibv_port_attr port{};
        error = library().query_port(context.get(), static_cast<std::uint8_t>(number), &port);
        if (error != 0) throw_error(error, "query a port of RDMA device " + facts.name);
        facts.ports.push_back({.number = number,
                               .active = port.state == IBV_PORT_ACTIVE,
                               .ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET,
                               .mtu = mtu_bytes(port.active_mtu),
                               .max_mtu = mtu_bytes(port.max_mtu),
                               .gids = {}});
    }
    add_gids(context.get(), facts);
}

std::vector<std::string> names() {
    int count = 0;
    ibv_device** list = library().get_device_list(&count);
    // Without any device, or even the kernel's part, some versions give an error and others an empty list.
    if (list == nullptr && errno != ENOSYS && errno != ENODEV) throw_error(errno, "list the RDMA devices");
    std::vector<std::string> found;
    for (int i = 0; list != nullptr && i < count; ++i) found.emplace_back(library().get_device_name(list[i]));
    if (list != nullptr) library().free_device_list(list);
    return found;
}

}  // namespace

std::vector<DeviceFacts> find_devices() {
    std::vector<DeviceFacts> devices;
    for (const std::string& name : names()) {
        DeviceFacts facts;
        facts.name = name;
        try {
            describe(facts);
        } catch (const std::exception& error) {
            facts.error = error.what();
        }
        devices.push_back(facts);
    }
    return devices;
}

}  // namespace csaud::device::verbs
