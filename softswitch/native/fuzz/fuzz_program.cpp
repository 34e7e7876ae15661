// A program that p4c made, with some of its JSON changed: the loader says what is wrong with it
// (ProgramError), or what it makes of it runs, whatever packets come.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "csaud_switch/base/error.hpp"
#include "csaud_switch/load/load_program.hpp"
#include "random_input.hpp"
#include "rig.hpp"

namespace {

using Json = nlohmann::json;

constexpr int kMostEdits = 4;
constexpr int kDeepest = 40;

// Where p4c found it; nobody reads it, and it is most of the text.
void strip(Json& json) {
    if (json.is_object()) json.erase("source_info");
    for (auto& child : json)
        if (child.is_structured()) strip(child);
}

std::vector<Json> programs() {
    std::vector<std::filesystem::path> files{CSAUD_PROGRAM};
    for (const auto& entry : std::filesystem::directory_iterator(CSAUD_PROGRAMS))
        if (entry.path().extension() == ".json") files.push_back(entry.path());
    std::sort(files.begin() + 1, files.end());
    std::vector<Json> result;
    for (const auto& path : files) {
        std::ifstream file(path);
        result.push_back(Json::parse(file));
        strip(result.back());
    }
    return result;
}

class Editor {
  public:
    Editor(FuzzedDataProvider& input, Json& root) : input_(input), root_(root) {}

    void edit() {
        Json& at = place();
        switch (input_.ConsumeIntegralInRange<int>(0, 8)) {
            case 0:
                at = scalar();
                break;
            case 1:
                at = Json(place());  // another part of the program
                break;
            case 2:
                std::swap(at, place_apart(at));
                break;
            case 3:
                if (at.is_array() && !at.empty()) at.erase(index(at));
                break;
            case 4:
                if (at.is_array() && !at.empty()) at.push_back(Json(at[index(at)]));
                break;
            case 5:
                if (at.is_object() && !at.empty())
                    at.erase(std::next(at.begin(), static_cast<int>(index(at))));
                break;
            case 6:
                if (at.is_number_integer())
                    at = at.get<std::int64_t>() + input_.ConsumeIntegralInRange<int>(-2, 2);
                break;
            case 7:
                if (at.is_number()) at = input_.ConsumeIntegral<std::int64_t>();
                break;
            case 8:
                if (at.is_array()) at = Json::array();
                break;
        }
    }

  private:
    std::size_t index(const Json& of) { return input_.ConsumeIntegralInRange<std::size_t>(0, of.size() - 1); }

    // Some part of it, at any depth.
    Json& place() {
        Json* at = &root_;
        for (int depth = 0; depth < kDeepest && at->is_structured() && !at->empty(); ++depth) {
            if (depth > 1 && input_.ConsumeIntegralInRange<int>(0, 5) == 0) break;
            at = at->is_array() ? &(*at)[index(*at)] : &*std::next(at->begin(), static_cast<int>(index(*at)));
        }
        return *at;
    }

    // A scalar, which nothing else can be a part of; or the place itself.
    Json& place_apart(Json& at) {
        Json& other = place();
        return at.is_primitive() && other.is_primitive() ? other : at;
    }

    Json scalar() {
        switch (input_.ConsumeIntegralInRange<int>(0, 6)) {
            case 0:
                return nullptr;
            case 1:
                return input_.ConsumeBool();
            case 2:
                return input_.ConsumeIntegralInRange<std::int64_t>(-3, 300);
            case 3:
                return input_.ConsumeIntegral<std::uint32_t>();
            case 4:
                return "0x" + std::string(input_.ConsumeIntegralInRange<std::size_t>(0, 40), 'f');
            case 5: {
                static const std::vector<std::string> words{
                    "field", "header",    "header_stack",      "stack_field", "hexstr",        "expression",
                    "local", "lookahead", "parameters_vector", "scalars",     "bool",          "extract",
                    "set",   "shift",     "advance",           "exact",       "lpm",           "ternary",
                    "range", "default",   "parse_vset",        "register",    "counter_array", "calculation"};
                return words[input_.ConsumeIntegralInRange<std::size_t>(0, words.size() - 1)];
            }
            default: {
                const Json& other = place();
                return other.is_primitive() ? other : Json(0);
            }
        }
    }

    FuzzedDataProvider& input_;
    Json& root_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::vector<Json> kPrograms = programs();
    FuzzedDataProvider input(data, size);
    // The large one seldom.
    const auto chosen = input.ConsumeIntegralInRange<std::size_t>(0, 8 * kPrograms.size());
    Json json = kPrograms[chosen == 0 ? 0 : 1 + chosen % (kPrograms.size() - 1)];
    Editor editor(input, json);
    for (int edits = input.ConsumeIntegralInRange<int>(0, kMostEdits); edits > 0; --edits) editor.edit();
    csaud::sw::fuzz::Rig rig;
    try {
        rig.target().install(csaud::sw::load_program(json.dump()));
    } catch (const csaud::sw::ProgramError&) {
        return 0;
    }
    rig.fill(input);
    rig.run(input);
    return 0;
}
