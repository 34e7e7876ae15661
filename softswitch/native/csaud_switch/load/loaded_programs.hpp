// Programs that were loaded, so that switches with the same one share what it does.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "csaud_switch/program/program.hpp"

namespace csaud::sw {

// May be used by several threads at once.
class LoadedPrograms {
  public:
    // As load_program; where the same JSON was loaded before and is still in use, a copy of that.
    std::unique_ptr<Program> load(const std::string& bmv2_json);

  private:
    std::mutex mutex_;
    std::unordered_map<std::string, std::unique_ptr<const Program>> loaded_;  // by JSON, as they were loaded
};

}  // namespace csaud::sw
