#include "csaud_sim/baselines/ndp.hpp"

#include <algorithm>
#include <utility>

#include "csaud_sim/baselines/arrival_window.hpp"
#include "csaud_sim/baselines/ndp_sender.hpp"
#include "csaud_sim/baselines/pull_pacer.hpp"
#include "csaud_sim/baselines/sprayed.hpp"
#include "csaud_sim/baselines/switches.hpp"
#include "csaud_sim/network/link_model.hpp"

namespace csaud::sim::baselines {

namespace {

// Each says in `more[0]` how many packets were pulled so far.
enum NdpType : std::uint8_t { kNdpAck = Sprayed::kData + 1, kNdpNack, kNdpPull };

class NdpSends final : public SprayedSender {
  public:
    NdpSends(std::uint32_t first_window, Nanos timeout, std::unique_ptr<PathPolicy> paths)
        : core_(first_window, timeout, std::move(paths)) {}

    void post(std::uint32_t payload) override {
        core_.post(payload);
        ++posted_;
    }
    bool may_send() override { return core_.may_send(); }
    Reason send(plain::Packet& packet, Nanos now) override {
        const NdpSender::Shot shot = core_.send(now);
        packet.psn = shot.seq;
        packet.payload = shot.payload;
        packet.path = shot.path;
        packet.ack = posted_;
        return shot.why;
    }
    void heard(const plain::Packet& packet, Nanos now) override {
        if (packet.type == kNdpAck) core_.on_ack(packet.psn, packet.path, now);
        if (packet.type == kNdpNack) core_.on_nack(packet.psn, packet.path, now);
        core_.on_pulls(static_cast<std::uint32_t>(packet.more[0]), now);
    }
    Nanos deadline() override { return core_.deadline(); }
    std::size_t timer(Nanos now) override { return core_.on_timer(now); }
    std::uint32_t acked() const override { return core_.acked(); }

  private:
    NdpSender core_;
    std::uint32_t posted_ = 0;  // packets
};

// Acknowledgements and NACKs go at once; pulls are paced, and go with those where the pacer allows.
class NdpReceives final : public SprayedReceiver {
  public:
    NdpReceives(PullPacer& pacer, std::uint32_t number) : pacer_(pacer), number_(number) {}

    Outcome packet(const plain::Packet& data, plain::Packet& answer, Nanos now) override {
        const bool cut = data.kind == plain::Kind::cut;
        const bool taken = !cut && arrived_.take(data.psn);
        posted_ = std::max(posted_, data.ack);
        if (arrived_.count() == posted_)
            pacer_.forget(number_);  // nobody would answer
        else
            pacer_.ask(number_);
        answer.type = cut && !arrived_.has(data.psn) ? kNdpNack : kNdpAck;
        answer.psn = data.psn;
        back_ = answer;
        if (pacer_.next() <= now && pacer_.first() == number_) {
            pacer_.take(now);
            ++pulls_;
        }
        answer.more[0] = pulls_;
        return {taken, true};
    }
    plain::Packet pull() {
        plain::Packet made = back_;
        made.type = kNdpPull;
        made.more[0] = ++pulls_;
        return made;
    }

  private:
    PullPacer& pacer_;
    std::uint32_t number_;
    ArrivalWindow arrived_;
    std::uint32_t posted_ = 0;  // packets that the sender has
    std::uint32_t pulls_ = 0;
    plain::Packet back_;  // how to answer
};

class Ndp final : public Sprayed {
  public:
    Ndp(SprayedModel model, Nanos spacing, const Seat& seat, Upper& upper)
        : Sprayed(with_receivers(std::move(model)), seat, upper), pacer_(spacing) {}

    bool next(plain::Packet& packet, bool data, Nanos now) override {
        if (pacer_.next() > now) return Sprayed::next(packet, data, now);
        packet = receivers_[pacer_.take(now)]->pull();
        ++books_.tx_control;
        return true;
    }
    Nanos deadline() const override { return std::min(pacer_.next(), Sprayed::deadline()); }

  private:
    SprayedModel with_receivers(SprayedModel model) {
        model.receiver = [this]() -> std::unique_ptr<SprayedReceiver> {
            auto made = std::make_unique<NdpReceives>(pacer_, static_cast<std::uint32_t>(receivers_.size()));
            receivers_.push_back(made.get());
            return made;
        };
        return model;
    }

    PullPacer pacer_;
    std::vector<NdpReceives*> receivers_;  // of the connections
};

std::unique_ptr<Transport> make_ndp(const Parameters& p, const Seat& seat, Upper& upper) {
    const auto first_window = static_cast<std::uint32_t>(p.whole("first_window"));
    const Nanos timeout = p.time("timeout");
    const auto paths = static_cast<std::uint16_t>(p.whole("paths"));
    make_path_policy("oblivious", paths, 0);  // which checks it
    SprayedModel model;
    model.mtu = static_cast<std::uint32_t>(p.whole("mtu"));
    model.data_headers = model.control_bytes = static_cast<std::uint32_t>(p.whole("headers"));
    model.sender = [=](std::uint64_t seed) {
        return std::make_unique<NdpSends>(first_window, timeout, make_path_policy("oblivious", paths, seed));
    };
    // A packet, and the header of one that was cut.
    const double bits = 8.0 * (model.mtu + 2 * (model.data_headers + LinkModel{}.overhead_bytes));
    const auto spacing = static_cast<Nanos>(bits * 1e9 / static_cast<double>(seat.rate_bps));
    return std::make_unique<Ndp>(std::move(model), spacing, seat, upper);
}

}  // namespace

TransportKind ndp() {
    return {
        "ndp", "NDP-style: a first window at once, then a packet for each pull of the receiver's; trimming",
        with_switches(
            {
                {"mtu", Unit::bytes, 9000, "payload of a packet (htsim: 9 KB)", {}, 64},
                {"headers", Unit::bytes, 40,
                 "of a frame, which is all of an answer (64 with preamble, FCS and gap)"},
                {"first_window", Unit::packets, 23, "sent without a pull (htsim)", {}, 1},
                {"paths", Unit::number, 64, "entropy values, a power of two", {}, 1},
                {"timeout", Unit::time, 1e6, "of a packet that nothing was heard of (htsim: 1 ms)", {}, 1},
            },
            {.trim = true, .queue = 7, .cut = 40}),
        &make_ndp};
}

}  // namespace csaud::sim::baselines
