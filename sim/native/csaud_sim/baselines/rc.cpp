#include "csaud_sim/baselines/rc.hpp"

#include <algorithm>

#include "csaud_sim/baselines/dcqcn_rate.hpp"
#include "csaud_sim/baselines/go_back_n.hpp"
#include "csaud_sim/baselines/queue_pairs.hpp"
#include "csaud_sim/baselines/switches.hpp"

namespace csaud::sim::baselines {

namespace {

QueuePairModel model_of(const Parameters& p, const Seat& seat) {
    QueuePairModel model;
    model.mtu = static_cast<std::uint32_t>(p.whole("mtu"));
    model.data_headers = 14 + 20 + 8 + 12 + 4;    // Ethernet, IPv4, UDP, BTH, iCRC
    model.answer_bytes = model.data_headers + 4;  // and AETH
    model.ecn = p.flag("ecn");
    const std::uint64_t bytes = p.whole("window");
    const auto window =
        bytes == 0 ? UINT32_MAX : static_cast<std::uint32_t>(std::max<std::uint64_t>(1, bytes / model.mtu));
    const Nanos timeout = p.time("timeout"), nack_every = p.time("nack_every");
    const Nanos guard = p.time("nack_guard") == 0 ? seat.base_rtt : p.time("nack_guard");
    model.send_order = [=] { return std::make_unique<GoBackN>(window, timeout, guard); };
    model.receive_order = [=] { return std::make_unique<InOrder>(nack_every); };
    set_queue_pairs(model, p);
    return model;
}

std::unique_ptr<Transport> make_rc(const Parameters& p, const Seat& seat, Upper& upper) {
    return std::make_unique<QueuePairs>(model_of(p, seat), upper);
}

std::unique_ptr<Transport> make_dcqcn(const Parameters& p, const Seat& seat, Upper& upper) {
    QueuePairModel model = model_of(p, seat);
    const auto line = static_cast<double>(seat.rate_bps);
    const double speed = line / 1e11;
    const auto dcqcn = std::make_shared<const DcqcnModel>(
        DcqcnModel{line, std::min(p.number("min_rate"), line), p.number("gain"), p.time("alpha_every"),
                   p.time("decrease_every"), p.time("increase_every"),
                   static_cast<std::uint32_t>(p.whole("fast_recoveries")), p.number("additive") * speed,
                   p.number("hyper") * speed});
    model.rate_control = [=] { return std::make_unique<DcqcnRate>(dcqcn); };
    return std::make_unique<QueuePairs>(std::move(model), upper);
}

std::vector<Parameter> parameters(double timeout, const std::string& source) {
    return {
        {"mtu", Unit::bytes, 4096, "payload of a packet (InfiniBand's longest)", {}, 64},
        {"timeout",
         Unit::time,
         timeout,
         "without progress, after which all is sent again from the first hole (" + source + ")",
         {},
         1},
        {"nack_every", Unit::time, 4e3, "between NACKs of one hole, at least (HPCC's simulation: 4 us)"},
        {"nack_guard", Unit::time, 0,
         "after going back, in which NACKs of the same hole mean nothing; 0: the base round trip"},
        {"window", Unit::bytes, 0, "under way of a connection, at most; 0: no bound, as on NICs"},
    };
}

std::vector<Parameter> dcqcn_parameters() {
    std::vector<Parameter> all =
        parameters(4e6, "what 9 MB take, 0.7 ms, at each of five switches, and more");
    const std::vector<Parameter> more{
        {"gain", Unit::share, 1.0 / 256,
         "g: of a period's marks, in alpha (HPCC's simulation, as all below)"},
        {"alpha_every", Unit::time, 1e3, "period after which alpha is learned", {}, 1},
        {"decrease_every", Unit::time, 4e3, "between cuts of the rate, at least", {}, 1},
        {"increase_every", Unit::time, 300e3, "between steps up", {}, 1},
        {"fast_recoveries", Unit::number, 1, "steps half the way back after a cut"},
        {"additive", Unit::rate, 20e6,
         "the next step, at 100 Gbit/s, in proportion at other rates (ConWeave: 40 Mbit/s)"},
        {"hyper", Unit::rate, 200e6, "each one after it, the same (ConWeave: 100 Mbit/s)"},
        {"min_rate", Unit::rate, 100e6, "the rate is not cut below", {}, 1e6},
    };
    all.insert(all.end(), more.begin(), more.end());
    return with_queue_pairs(all);
}

}  // namespace

TransportKind rc() {
    return {"rc", "reliable connections with go-back-N, lossy",
            with_switches(with_queue_pairs(parameters(1e6, "swept")), {}), &make_rc};
}

TransportKind dcqcn() {
    return {"dcqcn", "reliable connections with go-back-N and DCQCN, lossless by PFC",
            with_switches(dcqcn_parameters(),
                          {.ecn = true, .pfc = true, .kmin = 100e3, .kmax = 400e3, .pmax = 0.2}),
            &make_dcqcn};
}

}  // namespace csaud::sim::baselines
