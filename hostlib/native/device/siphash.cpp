#include "siphash.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace csaud::device {
namespace {

MakeTag load() {
    // By the names of its versions; Debian 12 and 13, Ubuntu 22.04 and 24.04 have 23.
    for (const char* file : {"libsodium.so.23", "libsodium.so.26"}) {
        void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) continue;
        if (void* found = ::dlsym(library, "crypto_shorthash")) return reinterpret_cast<MakeTag>(found);
    }
    throw std::runtime_error("authentication of packets needs libsodium (Debian: libsodium23)");
}

}  // namespace

MakeTag siphash() {
    static const MakeTag make = load();
    return make;
}

}  // namespace csaud::device
