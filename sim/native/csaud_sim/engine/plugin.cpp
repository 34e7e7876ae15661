#include "csaud_sim/engine/plugin.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace csaud::sim {

std::unique_ptr<Engine> load_engine(const std::string& path) {
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(std::string("engine: ") + ::dlerror());
    auto* const make = reinterpret_cast<MakeEngine*>(::dlsym(library, "csaud_sim_engine"));
    if (make == nullptr) throw std::runtime_error("engine: " + path + " has no csaud_sim_engine");
    std::unique_ptr<Engine> made(make(kEngineVersion));
    if (!made)
        throw std::runtime_error("engine: " + path +
                                 " gives none: it was built for another version, or is in use already");
    return made;
}

}  // namespace csaud::sim
