#include "csaud_sim/baselines/switches.hpp"

#include <utility>

namespace csaud::sim::baselines {

std::vector<Parameter> switch_parameters(const SwitchDefaults& d) {
    return {
        {"spray",
         Unit::choice,
         static_cast<double>(d.spray),
         "how switches choose among equal paths",
         {"ecmp", "random", "flowlet"}},
        {"flowlet_gap", Unit::time, 100'000,
         "pause that begins a flowlet (LetFlow as ConWeave's artifact has it: 100 us)"},
        {"queue", Unit::packets, d.queue,
         "room for DATA at a port, with kmax at 100 Gbit/s, in proportion at other rates; 0: as much as the "
         "policy of the experiment gives CSA-UD"},
        {"ecn", Unit::flag, d.ecn ? 1.0 : 0.0, "switches mark DATA"},
        {"kmin", Unit::bytes, d.kmin,
         "marks begin here at 100 Gbit/s, in proportion at other rates; 0: as for CSA-UD"},
        {"kmax", Unit::bytes, d.kmax, "from here on all are marked"},
        {"pmax", Unit::share, d.pmax, "share that is marked just below kmax"},
        {"marks",
         Unit::choice,
         d.mark_leaving ? 1.0 : 0.0,
         "by what waits when a packet arrives, or when it leaves",
         {"arriving", "leaving"}},
        {"trim", Unit::flag, d.trim ? 1.0 : 0.0, "DATA without room is cut to its headers"},
        {"cut", Unit::bytes, d.cut, "of a frame that was cut"},
        {"pfc", Unit::flag, d.pfc ? 1.0 : 0.0, "DATA is lossless: ports pause each other"},
        {"buffer", Unit::bytes, 9e6, "of a switch, with pfc (9 MB: ConWeave's artifact)"},
        {"pause_share", Unit::share, 1.0 / 16,
         "of what is free, that a port may hold before it pauses (the same)"},
    };
}

std::vector<Parameter> with_switches(std::vector<Parameter> own, const SwitchDefaults& defaults) {
    for (Parameter& each : switch_parameters(defaults)) own.push_back(std::move(each));
    return own;
}

plain::SwitchModel switch_model(const Parameters& p, bool failover) {
    plain::SwitchModel model;
    model.failover = failover;
    model.spray = static_cast<plain::Spray>(p.whole("spray"));
    model.flowlet_gap = p.time("flowlet_gap");
    model.in_bytes = p.number("kmax") > 0;
    model.mark_leaving = p.flag("marks");
    model.trim = p.flag("trim");
    model.cut_bytes = static_cast<std::uint32_t>(p.whole("cut"));
    model.pfc = p.flag("pfc");
    model.buffer_bytes = p.whole("buffer");
    model.pause_share = p.number("pause_share");
    return model;
}

plain::Room room_of(const Parameters& p, const PortFacts& facts) {
    constexpr double kPacket = 4154;  // a full RoCE packet
    const bool in_bytes = p.number("kmax") > 0;
    const double unit = in_bytes ? kPacket : 1;
    const auto scaled = [](double value) { return static_cast<std::uint64_t>(value); };
    const double speed = facts.rate_bps == 0 ? 1 : static_cast<double>(facts.rate_bps) / 1e11;
    const double queue = p.number("queue") * (in_bytes ? speed : 1);
    plain::Room room;
    room.data = scaled(unit * (queue > 0 ? queue : static_cast<double>(facts.data)));
    room.control = scaled(unit * static_cast<double>(facts.control)) + (queue > 0 ? room.data : 0);
    if (!p.flag("ecn")) return room;
    room.low = in_bytes ? scaled(p.number("kmin") * speed) : facts.low;
    room.high = in_bytes ? scaled(p.number("kmax") * speed) : facts.high;
    room.highest = p.number("pmax");
    room.mark_seed = facts.mark_seed;
    return room;
}

}  // namespace csaud::sim::baselines
