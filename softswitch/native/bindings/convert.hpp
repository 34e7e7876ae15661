// Between Python objects and the types of the control plane.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "csaud_switch/control/control.hpp"

namespace csaud::sw::python {

namespace nb = nanobind;

Bytes to_bytes(nb::handle object, const char* what);
nb::bytes from_bytes(std::span<const std::uint8_t> bytes);

std::vector<MatchField> to_match(nb::handle match);
nb::list from_match(const std::vector<MatchField>& match);

ActionSpec to_action(nb::handle action);
nb::tuple from_action(const ActionSpec& action);

GroupSpec to_group(std::uint32_t id, nb::handle members, std::uint32_t max_size);
nb::tuple from_group(const GroupSpec& group);

// Packets and bytes: read where the switch is locked, made a tuple where Python is.
std::pair<std::uint64_t, std::uint64_t> read(const Count& count);
nb::tuple from_count(const std::pair<std::uint64_t, std::uint64_t>& count);

}  // namespace csaud::sw::python
