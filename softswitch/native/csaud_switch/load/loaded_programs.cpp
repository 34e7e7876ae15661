#include "csaud_switch/load/loaded_programs.hpp"

#include "csaud_switch/load/load_program.hpp"

namespace csaud::sw {

std::unique_ptr<Program> LoadedPrograms::load(const std::string& bmv2_json) {
    const std::lock_guard<std::mutex> guard(mutex_);
    auto found = loaded_.find(bmv2_json);
    if (found == loaded_.end()) {
        std::unique_ptr<const Program> loaded = load_program(bmv2_json);
        // What no switch runs any more is forgotten.
        std::erase_if(loaded_, [](const auto& item) { return item.second->logic.use_count() == 1; });
        found = loaded_.emplace(bmv2_json, std::move(loaded)).first;
    }
    return found->second->copy();
}

}  // namespace csaud::sw
