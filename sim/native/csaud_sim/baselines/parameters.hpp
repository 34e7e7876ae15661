// What can be said of a transport beside its name: numbers with units, their defaults, and where those are
// from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "csaud_sim/engine/engine.hpp"

namespace csaud::sim::baselines {

// time: ns; rate: bit/s; share: 0 to 1; flag: 0 or 1; choice: index of the choice.
enum class Unit : std::uint8_t { time, rate, bytes, packets, share, number, flag, choice };

struct Parameter {
    std::string name;
    Unit unit = Unit::number;
    double fallback = 0;
    std::string about;  // meaning, and source of the default
    std::vector<std::string> choices{};
    double least = 0;

    double most() const {
        if (unit == Unit::choice) return static_cast<double>(choices.size()) - 1;
        return unit == Unit::share || unit == Unit::flag ? 1 : 1e15;
    }
};

class Parameters {
  public:
    // Every parameter that there is, and the values that were given: std::invalid_argument where there is no
    // such one, or it cannot have this value.
    Parameters(const std::vector<Parameter>& known, const std::map<std::string, double>& given) {
        for (const Parameter& each : known) values_[each.name] = each.fallback;
        for (const auto& [name, value] : given) {
            const auto found = std::ranges::find(known, name, &Parameter::name);
            if (found == known.end()) throw std::invalid_argument("there is no parameter " + name);
            if (!(value >= found->least && value <= found->most()))
                throw std::invalid_argument(name + " lies between " + std::to_string(found->least) + " and " +
                                            std::to_string(found->most()));
            values_[name] = value;
        }
    }

    double number(const std::string& name) const { return values_.at(name); }
    Nanos time(const std::string& name) const { return static_cast<Nanos>(number(name)); }
    std::uint64_t whole(const std::string& name) const { return static_cast<std::uint64_t>(number(name)); }
    bool flag(const std::string& name) const { return number(name) != 0; }

  private:
    std::map<std::string, double> values_;
};

}  // namespace csaud::sim::baselines
