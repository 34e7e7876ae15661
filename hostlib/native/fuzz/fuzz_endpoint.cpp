// One endpoint whose peers say anything: packets with the right address, key and iCRC but any header, posts
// and the passing of time, in any order. The endpoint must stay within its memory, keep its books, complete
// each post once at most, send only packets that a receiver accepts, and never have endless work at one
// moment.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <span>
#include <stdexcept>
#include <vector>

#include "endpoint.hpp"
#include "expect.hpp"
#include "wire.hpp"

namespace {

namespace wire = csaud::wire;
using csaud::MessageName;
using csaud::Nanos;

constexpr std::uint16_t kWorld = 3;
constexpr std::uint16_t kEpoch = 7;
constexpr std::uint32_t kQkey = 0x1234567;
constexpr std::uint16_t kMtu = 128;  // 96 bytes of payload: messages of many packets from few bytes
constexpr std::size_t kPayload = kMtu - wire::kCsaBytes;
constexpr std::uint32_t kAddress = 0x0a000100;  // plus the rank
constexpr std::uint32_t kQpn = 0x40;            // plus the rank
constexpr int kEnough = 20'000;                 // packets or timers at one moment: more is a loop without end

csaud::EndpointConfig configuration(FuzzedDataProvider& input) {
    csaud::EndpointConfig config;
    config.rank = 0;
    config.world = kWorld;
    config.epoch = kEpoch;
    config.qkey = kQkey;
    config.local = {kAddress, kQpn};
    config.path_mtu = kMtu;
    config.paths = 4;
    config.window = 8;
    config.early_pool_packets = 16;
    config.ordered = input.ConsumeBool();
    if (input.ConsumeBool()) config.bits = {.path_seq = 8, .tx_ts = 16, .credit = 8};
    return config;
}

// What was posted.
struct Post {
    bool send = false;
    std::size_t size = 0;
};

class Run {
  public:
    Run(const std::uint8_t* data, std::size_t size) : input_(data, size), endpoint_(configuration(input_)) {
        for (std::uint16_t rank = 1; rank < kWorld; ++rank)
            endpoint_.set_peer(rank, kAddress + rank, kQpn + rank);
    }

    void all() {
        while (input_.remaining_bytes() > 0) {
            step();
            settle();
        }
    }

  private:
    void step() {
        switch (input_.ConsumeIntegralInRange<int>(0, 5)) {
            case 0:
                return post(true);
            case 1:
                return post(false);
            case 2:
                return deliver(crafted());
            case 3:
                return deliver(raw());
            case 4:
                now_ += input_.ConsumeIntegralInRange<Nanos>(0, csaud::kSecond);
                return;
            case 5:
                echo();
                return;
        }
    }

    MessageName name(std::uint16_t src) {
        return {.comm = 0,
                .epoch = kEpoch,
                .coll_seq = input_.ConsumeIntegralInRange<std::uint32_t>(0, 3),
                .step = input_.ConsumeIntegralInRange<std::uint16_t>(0, 1),
                .src_rank = src,
                .chunk = input_.ConsumeIntegralInRange<std::uint16_t>(0, 1)};
    }

    void post(bool send) {
        const auto peer = input_.ConsumeIntegralInRange<std::uint16_t>(0, kWorld);
        const auto size = input_.ConsumeIntegralInRange<std::size_t>(0, 12 * kPayload);
        auto& buffer = buffers_.emplace_back(size);
        try {
            const std::uint64_t id = send ? endpoint_.post_send(name(0), peer, buffer, {}, now_)
                                          : endpoint_.post_recv(name(peer), peer, buffer, {}, now_);
            CSAUD_EXPECT(open_.emplace(id, Post{send, size}).second);
        } catch (const std::invalid_argument&) {
            // a peer or a name that is not to be had: said at once, nothing posted
        }
    }

    // A packet with every field from the input, mostly within what a peer could mean.
    std::vector<std::byte> crafted() {
        const auto peer = input_.ConsumeIntegralInRange<std::uint16_t>(0, kWorld);
        wire::Route route{.src_ipv4 = kAddress + peer,
                          .dst_ipv4 = kAddress,
                          .src_qpn = kQpn + peer,
                          .dst_qpn = kQpn,
                          .qkey = kQkey,
                          .ip_id = 1};
        wire::CsaHeader csa;
        csa.type = static_cast<wire::Type>(input_.ConsumeIntegralInRange<int>(0, 9));
        csa.flags = input_.ConsumeIntegral<std::uint8_t>();
        csa.spray = input_.ConsumeIntegralInRange<std::uint8_t>(0, 15);
        csa.cls = input_.ConsumeIntegralInRange<std::uint8_t>(0, 7);
        csa.ordered = input_.ConsumeBool();
        csa.attempt = input_.ConsumeIntegral<std::uint8_t>();
        // What is not from where its rank is would be looked at no further.
        csa.name = name(input_.ConsumeIntegralInRange<int>(0, 7) != 0
                            ? peer
                            : input_.ConsumeIntegralInRange<std::uint16_t>(0, kWorld));
        if (input_.ConsumeIntegralInRange<int>(0, 15) == 0)
            csa.name.epoch = input_.ConsumeIntegral<std::uint16_t>();
        csa.pkt_total = number(12);
        csa.pkt_idx = number(12);
        csa.path_id = number(4);
        csa.path_seq = number(64);
        csa.tx_ts = input_.ConsumeIntegral<std::uint32_t>();

        route.tos = input_.ConsumeIntegral<std::uint8_t>();

        std::vector<std::byte> body;
        if (csa.type == wire::Type::data) {
            body.resize(input_.ConsumeBool() ? kPayload
                                             : input_.ConsumeIntegralInRange<std::size_t>(0, 2 * kPayload));
        } else if (csa.type == wire::Type::loss) {
            if (input_.ConsumeIntegralInRange<int>(0, 7) != 0) csa.flags |= wire::kTrimmed;
            first_or_second_form(route);
            body.resize(input_.ConsumeIntegralInRange<std::size_t>(0, kPayload));
        } else {
            const bool own = input_.ConsumeIntegralInRange<int>(0, 7) != 0;
            body = control(csa.pkt_total, own ? peer : number(kWorld));
            if (input_.ConsumeBool()) csa.name.src_rank = 0;  // about a message of ours
        }
        return assembled(route, csa, body);
    }

    void first_or_second_form(wire::Route& route) {
        route.icrc = input_.ConsumeBool();
        route.dst_port = route.icrc ? 4791 : 49791;
    }

    std::uint16_t number(std::uint16_t small) {
        return input_.ConsumeIntegralInRange<int>(0, 15) == 0
                   ? input_.ConsumeIntegral<std::uint16_t>()
                   : input_.ConsumeIntegralInRange<std::uint16_t>(0, small);
    }

    std::vector<std::byte> control(std::uint16_t total, std::uint16_t from) {
        wire::ControlPart part;
        part.reason = static_cast<wire::Reason>(input_.ConsumeIntegralInRange<int>(0, 14));
        part.flags = input_.ConsumeIntegral<std::uint8_t>();
        part.ecn_count = input_.ConsumeIntegral<std::uint16_t>();
        part.newest_tx_ts = input_.ConsumeIntegral<std::uint32_t>();
        part.echoed_path = number(4);
        part.path_first = number(64);
        part.path_count = number(8);
        part.from_rank = from;
        part.credit = input_.ConsumeBool() ? input_.ConsumeIntegralInRange<std::uint32_t>(0, 64)
                                           : input_.ConsumeIntegral<std::uint32_t>();
        part.cumulative = number(12);
        part.bitmap_bits = input_.ConsumeBool() ? std::min<std::uint16_t>(total, 512)
                                                : input_.ConsumeIntegralInRange<std::uint16_t>(0, 512);
        std::vector<std::byte> body(wire::kControlBytes);
        wire::encode_control(body, part);
        for (std::size_t i = 0; i < csaud::Bitmap::wire_bytes(part.bitmap_bits); ++i)
            body.push_back(static_cast<std::byte>(input_.ConsumeIntegral<std::uint8_t>()));
        return body;
    }

    static std::vector<std::byte> assembled(const wire::Route& route, const wire::CsaHeader& csa,
                                            std::span<const std::byte> body) {
        std::array<std::byte, wire::kHeaderBytes> head;
        const std::size_t pad = wire::encode_headers(head, route, csa, body.size());
        std::vector<std::byte> packet(head.begin(), head.end());
        packet.insert(packet.end(), body.begin(), body.end());
        packet.resize(packet.size() + pad);
        if (route.icrc) {
            const auto crc = wire::icrc(head, body, pad);
            packet.insert(packet.end(), crc.begin(), crc.end());
        }
        return packet;
    }

    std::vector<std::byte> raw() {
        const auto bytes =
            input_.ConsumeBytes<std::uint8_t>(input_.ConsumeIntegralInRange<std::size_t>(0, 200));
        std::vector<std::byte> packet(bytes.size());
        if (!bytes.empty()) std::memcpy(packet.data(), bytes.data(), bytes.size());
        return packet;
    }

    // What the endpoint sent last comes back as a LOSS, as a switch would make it.
    void echo() {
        if (last_data_.size() < wire::kHeaderBytes) return;
        wire::Decoded sent;
        CSAUD_EXPECT(wire::decode_any(last_data_, sent) == wire::Fault::none);
        wire::Route route = sent.route;
        std::swap(route.src_ipv4, route.dst_ipv4);
        std::swap(route.src_qpn, route.dst_qpn);
        first_or_second_form(route);
        sent.csa.type = wire::Type::loss;
        sent.csa.flags |= wire::kTrimmed;
        deliver(assembled(route, sent.csa, {}));
    }

    void deliver(const std::vector<std::byte>& packet) {
        const std::uint64_t before = accounted();
        endpoint_.on_packet(packet, now_);
        CSAUD_EXPECT(accounted() == before + 1);
    }

    // Each packet that comes is in exactly one of these.
    std::uint64_t accounted() const {
        const csaud::Stats& s = endpoint_.stats();
        CSAUD_EXPECT(s.rx_loss_notices == s.rx_loss_trimmed + s.rx_loss_bounced);
        CSAUD_EXPECT(s.rx_ecn <= s.rx_data + s.rx_bad_index);  // early data may prove wrong later
        return s.rx_data + s.rx_control + s.rx_loss_notices + s.rx_loss_repeats + s.rx_bad_length +
               s.rx_bad_icrc + s.rx_bad_magic + s.rx_bad_qkey + s.rx_bad_qpn + s.rx_stale_epoch +
               s.rx_bad_source + s.rx_bad_auth + s.rx_bad_index + s.rx_bad_loss;
    }

    void settle() {
        int work = 0;
        for (bool busy = true; busy;) {
            CSAUD_EXPECT(++work < kEnough);
            busy = false;
            if (endpoint_.next_deadline() <= now_) endpoint_.on_timer(now_);
            csaud::TxPacket packet;
            while (endpoint_.next_tx(packet, now_)) {
                CSAUD_EXPECT(++work < kEnough);
                accept(packet);
                busy = true;
            }
            csaud::Completion completion;
            while (endpoint_.next_completion(completion)) {
                const auto post = open_.extract(completion.id);
                CSAUD_EXPECT(!post.empty());
                CSAUD_EXPECT(post.mapped().send == (completion.kind == csaud::CompletionKind::send));
                if (completion.status == csaud::Status::ok)
                    CSAUD_EXPECT(completion.bytes == post.mapped().size);
                busy = true;
            }
        }
    }

    // The packet must be one that its receiver would not refuse.
    void accept(const csaud::TxPacket& tx) {
        std::vector<std::byte> packet(tx.head.begin(), tx.head.begin() + tx.head_len);
        packet.insert(packet.end(), tx.payload.begin(), tx.payload.end());
        packet.insert(packet.end(), tx.tail.begin(), tx.tail.begin() + tx.tail_len);
        wire::Decoded read;
        const std::uint32_t rank = tx.dst_ipv4 - kAddress;
        CSAUD_EXPECT(rank > 0 && rank < kWorld);
        CSAUD_EXPECT(wire::decode(packet, {.qpn = kQpn + rank, .qkey = kQkey}, read) == wire::Fault::none);
        if (read.csa.type == wire::Type::data) last_data_ = std::move(packet);
    }

    FuzzedDataProvider input_;
    std::deque<std::vector<std::byte>> buffers_;  // outlives the endpoint
    csaud::Endpoint endpoint_;
    Nanos now_ = csaud::kSecond;
    std::map<std::uint64_t, Post> open_;  // by the id of its completion, which has not come yet
    std::vector<std::byte> last_data_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Run(data, size).all();
    return 0;
}
