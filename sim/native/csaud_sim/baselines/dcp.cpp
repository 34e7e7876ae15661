#include "csaud_sim/baselines/dcp.hpp"

#include <algorithm>
#include <utility>

#include "csaud_sim/baselines/arrival_window.hpp"
#include "csaud_sim/baselines/dcp_sender.hpp"
#include "csaud_sim/baselines/sprayed.hpp"
#include "csaud_sim/baselines/switches.hpp"
#include "csaud_sim/network/link_model.hpp"

namespace csaud::sim::baselines {

namespace {

enum DcpType : std::uint8_t { kDcpAck = Sprayed::kData + 1, kDcpHeaderOnly };

class DcpSends final : public SprayedSender {
  public:
    DcpSends(std::uint32_t window, Nanos timeout) : core_(window, timeout) {}

    void post(std::uint32_t payload) override { core_.post(payload); }
    bool may_send() override { return core_.may_send(); }
    Reason send(plain::Packet& packet, Nanos now) override {
        const DcpSender::Shot shot = core_.send(now);
        packet.psn = shot.seq;
        packet.payload = shot.payload;
        return shot.why;
    }
    void heard(const plain::Packet& packet, Nanos now) override {
        if (packet.type == kDcpHeaderOnly) return core_.on_cut(packet.psn, now);
        core_.on_ack(packet.ack, packet.psn, now);
    }
    Nanos deadline() override { return core_.deadline(); }
    std::size_t timer(Nanos now) override { return core_.on_timer(now); }
    std::uint32_t acked() const override { return core_.acked(); }

  private:
    DcpSender core_;
};

class DcpReceives final : public SprayedReceiver {
  public:
    Outcome packet(const plain::Packet& data, plain::Packet& answer, Nanos) override {
        if (data.kind == plain::Kind::cut) {
            answer.type = kDcpHeaderOnly;
            answer.psn = data.psn;
            return {false, true};
        }
        const bool taken = arrived_.take(data.psn);
        answer.type = kDcpAck;
        answer.ack = arrived_.next();
        answer.psn = arrived_.count();
        return {taken, true};
    }

  private:
    ArrivalWindow arrived_;
};

std::unique_ptr<Transport> make_dcp(const Parameters& p, const Seat& seat, Upper& upper) {
    SprayedModel model;
    model.mtu = static_cast<std::uint32_t>(p.whole("mtu"));
    model.data_headers = model.control_bytes = static_cast<std::uint32_t>(p.whole("headers"));
    const std::uint64_t packet = model.mtu + model.data_headers + LinkModel{}.overhead_bytes;
    const std::uint64_t bytes = p.whole("window") > 0 ? p.whole("window") : seat.bdp_bytes();
    const auto window = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (bytes + packet - 1) / packet));
    const Nanos timeout = p.time("timeout");
    model.sender = [=](std::uint64_t) { return std::make_unique<DcpSends>(window, timeout); };
    model.receiver = [] { return std::make_unique<DcpReceives>(); };
    return std::make_unique<Sprayed>(std::move(model), seat, upper);
}

}  // namespace

TransportKind dcp() {
    return {
        "dcp",
        "DCP-like: lossy RDMA over trimming switches that spray; what was cut is told by reflected headers",
        with_switches(
            {
                {"mtu", Unit::bytes, 4096, "payload of a packet (InfiniBand's longest)", {}, 64},
                {"headers", Unit::bytes, 58,
                 "of a frame (RoCEv2's), which is all of an answer, as of a header-only packet"},
                {"window", Unit::bytes, 0, "under way of a connection; 0: a bandwidth-delay product"},
                {"timeout", Unit::time, 1e6, "without a word, after which all goes again", {}, 1},
            },
            {.spray = plain::Spray::random, .trim = true, .queue = 41, .cut = 60}),
        &make_dcp};
}

}  // namespace csaud::sim::baselines
