// Errors of the switch. Each message names the thing that is wrong.
#pragma once

#include <stdexcept>
#include <string>

namespace csaud::sw {

// The program's JSON is malformed or uses a construct that is not supported.
struct ProgramError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A table, action, profile, counter, register, switch ... of this name does not exist.
struct UnknownName : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct NotFound : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct AlreadyExists : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct ResourceExhausted : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct InvalidArgument : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct FailedPrecondition : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace csaud::sw
