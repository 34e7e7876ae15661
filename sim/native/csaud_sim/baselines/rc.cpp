#include "csaud_sim/baselines/rc.hpp"

#include <algorithm>

#include "csaud_sim/baselines/go_back_n.hpp"
#include "csaud_sim/baselines/queue_pairs.hpp"
#include "csaud_sim/baselines/switches.hpp"

namespace csaud::sim::baselines {

namespace {

std::unique_ptr<Transport> make_rc(const Parameters& p, const Seat& seat, Upper& upper) {
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
    return std::make_unique<QueuePairs>(std::move(model), seat, upper);
}

}  // namespace

TransportKind rc() {
    return {
        "rc", "reliable connections with go-back-N, lossy",
        with_switches(
            {
                {"mtu", Unit::bytes, 4096, "payload of a packet (InfiniBand's longest)", {}, 64},
                {"timeout",
                 Unit::time,
                 1e6,
                 "without progress, after which all is sent again from the first hole (swept)",
                 {},
                 1},
                {"nack_every", Unit::time, 4e3,
                 "between NACKs of one hole, at least (HPCC's simulation: 4 us)"},
                {"nack_guard", Unit::time, 0,
                 "after going back, in which NACKs of the same hole mean nothing; 0: the base round trip"},
                {"window", Unit::bytes, 0, "under way of a connection, at most; 0: no bound, as on NICs"},
            },
            {}),
        &make_rc};
}

}  // namespace csaud::sim::baselines
