#include "csaud_sim/baselines/uec.hpp"

#include <algorithm>
#include <utility>

#include "csaud_sim/baselines/sprayed.hpp"
#include "csaud_sim/baselines/switches.hpp"
#include "csaud_sim/baselines/uec_receiver.hpp"
#include "csaud_sim/baselines/uec_sender.hpp"
#include "csaud_sim/network/link_model.hpp"

namespace csaud::sim::baselines {

namespace {

enum UecType : std::uint8_t { kUecAck = Sprayed::kData + 1, kUecNack };

// What DATA asks for, in `ack`; what answers say, in `ack` or above the bitmap's first packet in `more[2]`.
constexpr std::uint32_t kUecAckRequest = 1;
constexpr std::uint32_t kUecNackMarked = 1, kUecNackLastHop = 2;
constexpr std::uint64_t kUecAckMarked = 1ULL << 32;

class UecSends final : public SprayedSender {
  public:
    UecSends(const NsccConfig& config, Nanos timeout, std::unique_ptr<PathPolicy> paths)
        : core_(config, timeout, std::move(paths)) {}

    void post(std::uint32_t payload) override { core_.post(payload); }
    bool may_send() override { return core_.may_send(); }
    Reason send(plain::Packet& packet, Nanos now) override {
        const UecData data = core_.send(now);
        packet.psn = data.seq;
        packet.payload = data.payload;
        packet.path = data.path;
        packet.ack = data.ack_request ? kUecAckRequest : 0;
        return data.why;
    }
    void heard(const plain::Packet& p, Nanos now) override {
        if (p.type == kUecNack)
            return core_.on_nack(
                {p.psn, p.path, (p.ack & kUecNackMarked) != 0, (p.ack & kUecNackLastHop) != 0}, now);
        core_.on_ack({.next = p.ack,
                      .base = static_cast<std::uint32_t>(p.more[2]),
                      .bitmap = p.more[0],
                      .acked = p.psn,
                      .path = p.path,
                      .received = p.more[1],
                      .marked = (p.more[2] & kUecAckMarked) != 0,
                      .again = p.again},
                     now);
    }
    Nanos deadline() override { return core_.deadline(); }
    std::size_t timer(Nanos now) override { return core_.on_timer(now); }
    std::uint32_t acked() const override { return core_.acked(); }

  private:
    UecSender core_;
};

class UecReceives final : public SprayedReceiver {
  public:
    UecReceives(std::uint32_t header, std::uint32_t ack_every) : core_(header, ack_every) {}

    Outcome packet(const plain::Packet& data, plain::Packet& answer, Nanos) override {
        const UecData what{.seq = data.psn,
                           .payload = data.payload,
                           .path = data.path,
                           .ack_request = (data.ack & kUecAckRequest) != 0,
                           .why = data.again ? Reason::trimmed : Reason::first};
        const UecReceiver::Answer said = data.kind == plain::Kind::cut
                                             ? core_.on_trimmed(what, data.marked, data.cut_last)
                                             : core_.on_data(what, data.marked);
        if (said.ack) write(*said.ack, answer);
        if (said.nack) write(*said.nack, answer);
        return {said.taken, said.ack || said.nack};
    }

  private:
    static void write(const UecAck& ack, plain::Packet& to) {
        to.type = kUecAck;
        to.ack = ack.next;
        to.psn = ack.acked;
        to.path = ack.path;
        to.again = ack.again;
        to.more = {ack.bitmap, ack.received, ack.base | (ack.marked ? kUecAckMarked : 0)};
    }
    static void write(const UecNack& nack, plain::Packet& to) {
        to.type = kUecNack;
        to.psn = nack.seq;
        to.path = nack.path;
        to.ack = (nack.marked ? kUecNackMarked : 0) | (nack.last_hop ? kUecNackLastHop : 0);
    }

    UecReceiver core_;
};

const std::vector<std::string>& policies() {
    static const std::vector<std::string> all{"oblivious", "bitmap", "reps", "mixed"};
    return all;
}

NsccConfig congestion(const Parameters& p, const Seat& seat) {
    NsccConfig config;
    config.rate_bps = seat.rate_bps;
    config.header = static_cast<std::uint32_t>(p.whole("headers")) + LinkModel{}.overhead_bytes;
    config.mtu = static_cast<std::uint32_t>(p.whole("mtu")) + config.header;
    config.base_rtt = seat.base_rtt;
    config.target_delay = p.time("target_delay");
    config.gamma = p.number("gamma");
    config.fair_packets = p.number("fair_increase");
    config.eta_packets = p.number("eta");
    config.fast_scale = p.number("fast_scale");
    config.delay_gain = p.number("delay_gain");
    config.quick_gate = static_cast<unsigned>(p.whole("quick_gate"));
    return config;
}

std::unique_ptr<Transport> make_uec(const Parameters& p, const Seat& seat, Upper& upper) {
    const NsccConfig config = congestion(p, seat);
    config.check();
    Nanos timeout = p.time("timeout");
    if (timeout == 0) {  // the queues of three hops there and back, and some
        // With kmax its room is in proportion to a port's rate (switches.cpp), so it takes as long at any.
        const double rate = p.number("kmax") > 0 ? 1e11 : static_cast<double>(seat.rate_bps);
        const double queue = p.number("queue") * config.mtu * 8e9 / rate;
        timeout = std::max<Nanos>(15'000, seat.base_rtt) + static_cast<Nanos>(6 * queue);
    }
    const auto ack_every = static_cast<std::uint32_t>(p.whole("ack_every"));
    const auto paths = static_cast<std::uint16_t>(p.whole("paths"));
    const std::string policy = policies().at(p.whole("path_policy"));
    make_path_policy(policy, paths, 0);  // which checks both
    SprayedModel model;
    model.mtu = static_cast<std::uint32_t>(p.whole("mtu"));
    model.data_headers = model.control_bytes = static_cast<std::uint32_t>(p.whole("headers"));
    model.ecn = p.flag("ecn");
    model.sender = [=](std::uint64_t seed) {
        return std::make_unique<UecSends>(config, timeout, make_path_policy(policy, paths, seed));
    };
    model.receiver = [=] { return std::make_unique<UecReceives>(config.header, ack_every); };
    return std::make_unique<Sprayed>(std::move(model), seat, upper);
}

}  // namespace

TransportKind uec() {
    return {
        "uec",
        "Ultra-Ethernet-like: NSCC's window, path policies, trimming (constants of ultraethernet/uet-htsim)",
        with_switches(
            {
                {"mtu", Unit::bytes, 4096, "payload of a packet", {}, 64},
                {"headers", Unit::bytes, 40,
                 "of a frame, which is all of an acknowledgement (64 with preamble, FCS and gap)"},
                {"path_policy", Unit::choice, 3, "which entropy value a packet has", policies()},
                {"paths", Unit::number, 128, "entropy values, a power of two", {}, 1},
                {"ack_every", Unit::bytes, 16384,
                 "for one acknowledgement; reps is better with each packet's (4000)"},
                {"timeout", Unit::time, 0,
                 "of the oldest packet; 0: 15 us or the idle round trip, and six times what a full queue "
                 "takes"},
                {"target_delay", Unit::time, 0, "of queues; 0: three quarters of the idle round trip"},
                {"gamma", Unit::share, 0.8, "of a decrease"},
                {"fair_increase", Unit::number, 5, "packets in a window that is late and not marked"},
                {"eta", Unit::number, 0.15, "packets added in an idle round trip"},
                {"fast_scale", Unit::number, 0.25, "of each byte, where queues are empty"},
                {"delay_gain", Unit::share, 0.0125, "of the average delay"},
                {"quick_gate", Unit::number, 3,
                 "after a trim the window becomes what arrived, if that is less than its 2^-this"},
            },
            {.ecn = true,
             .trim = true,
             .queue = 41,
             .kmin = 37'350,
             .kmax = 145'250,
             .mark_leaving = true,
             .cut = 40}),
        &make_uec};
}

}  // namespace csaud::sim::baselines
