#include "csaud_sim/baselines/irn.hpp"

#include <algorithm>

#include "csaud_sim/baselines/queue_pairs.hpp"
#include "csaud_sim/baselines/selective_repeat.hpp"
#include "csaud_sim/baselines/switches.hpp"

namespace csaud::sim::baselines {

namespace {

std::unique_ptr<Transport> make_irn(const Parameters& p, const Seat& seat, Upper& upper) {
    QueuePairModel model;
    model.mtu = static_cast<std::uint32_t>(p.whole("mtu"));
    model.data_headers = 14 + 20 + 8 + 12 + 16 + 4;  // Ethernet, IPv4, UDP, BTH, RETH (in each packet), iCRC
    model.answer_bytes = 14 + 20 + 8 + 12 + 4 + 4 + 4;  // AETH, and the packet that a NACK is about
    model.ecn = p.flag("ecn");
    const std::uint64_t bytes = p.whole("bdp") == 0 ? seat.bdp_bytes() : p.whole("bdp");
    const auto window =
        static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (bytes + model.mtu - 1) / model.mtu));
    const IrnTimeouts timeouts{p.time("rto_low"), p.time("rto_high"),
                               static_cast<std::uint32_t>(p.whole("rto_few"))};
    set_queue_pairs(model, p);
    model.send_order = [=] { return std::make_unique<SelectiveRepeat>(window, timeouts); };
    model.receive_order = [] { return std::make_unique<OutOfOrder>(); };
    return std::make_unique<QueuePairs>(std::move(model), upper);
}

}  // namespace

TransportKind irn() {
    return {"irn", "IRN: selective repeat by bitmaps, a BDP under way, no lossless Ethernet",
            with_switches(with_queue_pairs({
                              {"mtu", Unit::bytes, 4096, "payload of a packet", {}, 64},
                              {"rto_low",
                               Unit::time,
                               100e3,
                               "timeout where less than rto_few packets are under way (IRN: 100 us)",
                               {},
                               1},
                              {"rto_high", Unit::time, 320e3, "otherwise (IRN: 320 us)", {}, 1},
                              {"rto_few", Unit::packets, 3, "N (IRN: 3)"},
                              {"bdp", Unit::bytes, 0,
                               "under way of a connection, at most; 0: of the longest path, as it is idle"},
                          }),
                          {}),
            &make_irn};
}

}  // namespace csaud::sim::baselines
