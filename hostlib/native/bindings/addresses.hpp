// IPv6 addresses, and the names that the core knows them by, from Python.
#pragma once

#include <nanobind/nanobind.h>
#include <netinet/in.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "ip6/names.hpp"

namespace csaud::bindings {

using AddressNames = std::vector<std::pair<std::uint32_t, nanobind::bytes>>;

inline in6_addr to_in6(const nanobind::bytes& address) {
    in6_addr made{};
    if (address.size() != sizeof made) throw nanobind::value_error("an IPv6 address has 16 bytes");
    std::memcpy(&made, address.data(), sizeof made);
    return made;
}

inline device::ip6::Names to_names(const AddressNames& names) {
    device::ip6::Names made;
    for (const auto& [name, address] : names) made.add(name, to_in6(address));
    return made;
}

}  // namespace csaud::bindings
