// A machine-wide claim to a queue pair number, so that no two ranks at one address answer to the same one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "file_descriptor.hpp"

namespace csaud::device {

// An abstract UNIX socket's name is unique in a network namespace and vanishes with its process, however that
// ends: just what a QP number needs, whose packets are told apart within one network namespace, too. Returns
// nothing when another process holds the number.
std::optional<FileDescriptor> claim_qpn(const std::string& address, std::uint32_t qpn);

}  // namespace csaud::device
