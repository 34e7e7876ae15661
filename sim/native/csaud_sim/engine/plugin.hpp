// An engine from a shared library, so that one may be built where it runs, from what may not be handed on
// together with the simulator.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "csaud_sim/engine/engine.hpp"

namespace csaud::sim {

// One more with each change of Engine or Actor.
inline constexpr std::uint32_t kEngineVersion = 1;

// What the library has under the name csaud_sim_engine, without mangling. The engine is the caller's; none
// where the version is another one, or there may be no other engine now.
using MakeEngine = Engine*(std::uint32_t version);

// The library stays loaded. Throws std::runtime_error.
std::unique_ptr<Engine> load_engine(const std::string& path);

}  // namespace csaud::sim
