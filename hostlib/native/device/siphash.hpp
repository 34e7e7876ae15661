// SipHash-2-4 of libsodium, which is found at run time; without it everything else works.
#pragma once

#include "csaud_host/wire/authentication.hpp"

namespace csaud::device {

// Throws std::runtime_error where the library is missing.
MakeTag siphash();

}  // namespace csaud::device
