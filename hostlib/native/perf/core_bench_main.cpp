// What the protocol core takes by itself, without sockets and threads: DATA packets received and reassembled.
//
//   csaud_host_core_bench receive BYTES PEERS PACKETS [BURST [auth]]   BYTES of payload a packet, from PEERS
//                                                               in turn, BURST of each; authenticated
//   csaud_host_core_bench memory PEERS MESSAGES                 bytes kept for idle peers, active messages
//
// Prints one line of JSON. Counted is all that a receiver does for a packet: taking it apart, checking its
// iCRC, placing it, timers, the control packets that answer, completions and the posts of further receives,
// and the peers' answers to its pings. Not counted: making the packets.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "csaud_host/base/byte_order.hpp"
#include "csaud_host/endpoint/endpoint.hpp"
#include "csaud_host/flow/credit.hpp"
#include "csaud_host/wire/wire.hpp"
#include "siphash.hpp"

namespace {

using csaud::Completion;
using csaud::Endpoint;
using csaud::EndpointConfig;
using csaud::MessageName;
using csaud::Nanos;
using csaud::TxPacket;
namespace wire = csaud::wire;

constexpr std::uint32_t kLocalIpv4 = 0x0a000001;
constexpr std::uint32_t kPeerIpv4 = 0x0b000000;
constexpr std::uint32_t kFirstQpn = 0x100;
constexpr std::uint32_t kQkey = 0x1234567;
constexpr std::size_t kAtOnce = 64;  // packets of a batch, as a device gives them
constexpr Nanos kPacketTime = 100;   // of the virtual clock
constexpr std::uint16_t kMessagePackets = 64;
constexpr Nanos kTurn = 2 * kMessagePackets * kPacketTime;  // of a peer's two posted messages

EndpointConfig receiver_config(std::size_t bytes, std::uint16_t peers, bool authenticated = false) {
    EndpointConfig c;
    if (authenticated) c.auth.make = csaud::device::siphash();
    c.world = static_cast<std::uint16_t>(peers + 1);
    c.path_mtu = static_cast<std::uint16_t>(bytes + wire::kCsaBytes + c.auth.bytes());
    c.qkey = kQkey;
    c.local = {kLocalIpv4, kFirstQpn};
    // So that each peer has the same window, however many there are.
    c.early_pool_packets = std::max(c.early_pool_packets, c.window * peers);
    return c;
}

void add_peers(Endpoint& endpoint, std::uint16_t peers) {
    for (std::uint32_t p = 1; p <= peers; ++p)
        endpoint.set_peer(static_cast<std::uint16_t>(p), kPeerIpv4 + p, kFirstQpn + p);
}

// Where each peer is in its stream of messages.
struct Source {
    std::uint32_t message = 0;
    std::uint16_t packet = 0;
    std::array<std::uint16_t, 16> path_seq{};
};

// A question of the receiver's, which a peer answers at once.
struct Ping {
    std::uint16_t peer = 0;  // its rank
    std::uint32_t tx_ts = 0;
};

class Packets {
  public:
    Packets(std::size_t bytes, std::uint16_t peers, std::size_t burst, const EndpointConfig& receiver)
        : bytes_(bytes),
          burst_(burst),
          auth_(receiver.auth),
          credit_(csaud::initial_window(receiver)),
          sources_(peers),
          payload_(bytes, std::byte{0x5a}) {
        stride_ = (wire::kHeaderBytes + bytes + 16 + 63) / 64 * 64;
        storage_.resize(kAtOnce * stride_);
    }

    // The answers to `pings`, and the next kAtOnce packets of DATA.
    void make(const std::vector<Ping>& pings, Nanos now) {
        spans_.clear();
        pongs_.resize(pings.size());
        for (std::size_t i = 0; i < pings.size(); ++i) spans_.push_back(pong(pongs_[i], pings[i], now));
        for (std::size_t i = 0; i < kAtOnce; ++i) spans_.push_back(one(i, now));
    }
    const std::vector<std::span<const std::byte>>& spans() const { return spans_; }

  private:
    using Pong = std::array<std::byte, wire::kHeaderBytes + wire::kControlBytes + 16>;

    std::span<const std::byte> one(std::size_t place, Nanos now) {
        const auto peer = static_cast<std::uint16_t>(made_ / burst_ % sources_.size());
        ++made_;
        Source& s = sources_[peer];
        wire::CsaHeader h;
        h.cls = 4;
        h.flags = s.packet + 1 == kMessagePackets ? wire::kLast : 0;
        h.name.coll_seq = s.message;
        h.name.src_rank = static_cast<std::uint16_t>(peer + 1);
        h.pkt_idx = s.packet;
        h.pkt_total = kMessagePackets;
        h.path_id = s.packet % 16;
        h.path_seq = s.path_seq[h.path_id]++;
        h.tx_ts = static_cast<std::uint32_t>(now / 1000);
        if (++s.packet == kMessagePackets) {
            s.packet = 0;
            ++s.message;
        }
        std::byte* out = storage_.data() + place * stride_;
        std::memcpy(out + wire::kHeaderBytes, payload_.data(), bytes_);
        return finish(out, h, wire::kCsaBytes, bytes_);
    }

    std::span<const std::byte> pong(Pong& out, const Ping& ping, Nanos now) const {
        wire::CsaHeader h;
        h.type = wire::Type::probe_rsp;
        h.name.src_rank = ping.peer;
        h.tx_ts = static_cast<std::uint32_t>(now / 1000);
        wire::ControlPart c;
        c.reason = wire::Reason::pong;
        c.flags = wire::kSeen | wire::kEcho;
        c.newest_tx_ts = ping.tx_ts;
        c.from_rank = ping.peer;
        c.credit = credit_;
        wire::encode_control(std::span(out).subspan(wire::kHeaderBytes), c);
        return finish(out.data(), h, wire::kCsaBytes + wire::kControlBytes, wire::kControlBytes);
    }

    // Writes the headers before `body` bytes, and behind them the tag, which covers so many bytes from the
    // CSA header on, and the iCRC.
    std::span<const std::byte> finish(std::byte* out, const wire::CsaHeader& h, std::size_t tagged,
                                      std::size_t body) const {
        wire::Route r;
        r.src_ipv4 = kPeerIpv4 + h.name.src_rank;
        r.dst_ipv4 = kLocalIpv4;
        r.src_qpn = kFirstQpn + h.name.src_rank;
        r.dst_qpn = kFirstQpn;
        r.qkey = kQkey;
        r.src_port = static_cast<std::uint16_t>(0xC000 | h.path_id);
        r.ip_id = 7;
        const std::span<std::byte> head(out, wire::kHeaderBytes);
        const std::size_t pad = wire::encode_headers(head, r, h, body + auth_.bytes());
        std::byte* behind = out + wire::kHeaderBytes + body;
        const std::size_t tail = auth_.bytes() + pad;
        std::memset(behind, 0, tail);
        if (auth_.on()) {
            const auto tag = csaud::tag_of(auth_, {r.src_ipv4, r.dst_ipv4, r.src_qpn, r.dst_qpn},
                                           std::span<const std::byte>(out + wire::kCsaOffset, tagged),
                                           tagged == wire::kCsaBytes ? body : 0);
            std::memcpy(behind, tag.data(), tag.size());
        }
        const auto crc = wire::icrc(head, std::span<const std::byte>(out + wire::kHeaderBytes, body),
                                    std::span<const std::byte>(behind, tail));
        std::memcpy(behind + tail, crc.data(), crc.size());
        return {out, wire::kHeaderBytes + body + tail + crc.size()};
    }

    std::size_t bytes_;
    std::size_t burst_;
    csaud::Authentication auth_;
    std::uint32_t credit_;
    std::vector<Source> sources_;
    std::vector<std::byte> payload_;
    std::size_t stride_ = 0;
    std::vector<std::byte> storage_;
    std::vector<Pong> pongs_;
    std::vector<std::span<const std::byte>> spans_;
    std::uint64_t made_ = 0;
};

struct Receiving {
    Endpoint endpoint;
    std::vector<std::byte> target;
    std::vector<std::uint32_t> posted;  // messages by peer
    TxPacket out;
    std::uint64_t answers = 0;
    std::vector<Ping> pings;

    Receiving(std::size_t bytes, std::uint16_t peers, bool authenticated)
        : endpoint(receiver_config(bytes, peers, authenticated)),
          target(kMessagePackets * bytes),
          posted(peers) {
        add_peers(endpoint, peers);
        for (std::uint16_t p = 1; p <= peers; ++p) {
            post(p, 0);
            post(p, 0);
        }
    }

    void answer() {
        ++answers;
        const auto byte = [&](std::size_t at) { return std::to_integer<std::uint8_t>(out.head[at]); };
        if (byte(wire::kCsaOffset + 2) != static_cast<std::uint8_t>(wire::Type::probe)) return;
        if (byte(wire::kHeaderBytes) != static_cast<std::uint8_t>(wire::Reason::ping)) return;
        pings.push_back({out.dst_rank, csaud::get32(out.head.data() + wire::kCsaOffset + 28)});
    }

    void post(std::uint16_t peer, Nanos now) {
        MessageName name;
        name.coll_seq = posted[peer - 1U]++;
        name.src_rank = peer;
        // What a schedule would know: with many peers each one's turn comes late.
        csaud::Hints hints;
        hints.fan_in = 1;  // all send to all: none has to make room for the others
        hints.expected_start = now + kTurn * static_cast<Nanos>(posted.size());
        endpoint.post_recv(name, peer, target, hints, now);
    }
};

inline void take_all(Receiving& r, const Packets& packets, Nanos now) {
    r.pings.clear();
    r.endpoint.on_packets(packets.spans(), now, [](std::size_t) {});
    r.endpoint.on_timer(now);
    while (r.endpoint.next_tx(r.out, now)) r.answer();
    Completion done;
    while (r.endpoint.next_completion(done)) r.post(done.rank, now);
}

// The only function that counts; callgrind is told its name.
[[gnu::noinline]] void timed_receive(Receiving& r, const Packets& packets, Nanos now) {
    take_all(r, packets, now);
}

int receive(std::size_t bytes, std::uint16_t peers, std::uint64_t wanted, std::size_t burst,
            bool authenticated) {
    const std::uint64_t count = (wanted + kAtOnce - 1) / kAtOnce * kAtOnce;
    Receiving receiving(bytes, peers, authenticated);
    Packets packets(bytes, peers, burst, receiving.endpoint.config());
    Nanos now = 1'000'000;
    std::chrono::nanoseconds time{0};
    std::vector<double> rounds;
    // Until each peer's record is made, and its round trip and how far apart its packets come are known, does
    // not count: that is its first message, and the second one's beginning.
    const std::uint64_t known =
        std::max<std::uint64_t>(peers * (kMessagePackets + std::max<std::size_t>(burst, 16)), 4096);
    const std::uint64_t warm = std::max<std::uint64_t>(count / 10, known + kAtOnce) / kAtOnce * kAtOnce;
    for (std::uint64_t n = 0; n < warm + count; n += kAtOnce) {
        packets.make(receiving.pings, now);
        if (n < warm) {
            take_all(receiving, packets, now);
        } else {
            const auto begin = std::chrono::steady_clock::now();
            timed_receive(receiving, packets, now);
            const auto took = std::chrono::steady_clock::now() - begin;
            time += took;
            rounds.push_back(static_cast<double>(took.count()) / kAtOnce);
        }
        now += kPacketTime * static_cast<Nanos>(kAtOnce);
    }
    const csaud::Stats& s = receiving.endpoint.stats();
    if (s.rx_data != warm + count || s.rx_duplicates != 0 || s.rx_bad_icrc != 0) {
        std::fprintf(stderr, "%llu of %llu packets were taken\n", static_cast<unsigned long long>(s.rx_data),
                     static_cast<unsigned long long>(warm + count));
        return 1;
    }
    // The median: what interrupts the process does not count.
    std::ranges::nth_element(rounds, rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2));
    std::printf(
        "{\"ns_per_packet\": %.2f, \"mean_ns_per_packet\": %.2f, \"answers\": %llu, \"packets\": %llu}\n",
        rounds[rounds.size() / 2], static_cast<double>(time.count()) / static_cast<double>(count),
        static_cast<unsigned long long>(receiving.answers), static_cast<unsigned long long>(count));
    return 0;
}

int memory(std::uint16_t peers, std::uint32_t messages) {
    constexpr std::size_t kBytes = 64;
    const auto used = [](const Endpoint& e) { return e.memory(); };
    Endpoint idle(receiver_config(kBytes, peers));
    const std::size_t before = used(idle).peers;
    add_peers(idle, peers);
    const double per_peer = static_cast<double>(used(idle).peers) / (peers + 1.0);

    Endpoint busy(receiver_config(kBytes, 1));
    add_peers(busy, 1);
    std::vector<std::byte> buffer(512 * kBytes);
    const csaud::MemoryUse empty = used(busy);
    for (std::uint32_t m = 0; m < messages; ++m) {
        MessageName name;
        name.coll_seq = m;
        name.src_rank = 1;
        busy.post_recv(name, 1, buffer, {}, 0);
        name.src_rank = 0;
        busy.post_send(name, 1, buffer, {}, 0);
    }
    const csaud::MemoryUse full = used(busy);
    std::printf("{\"idle_peer\": %.1f, \"active_receive\": %.1f, \"active_send\": %.1f, \"table\": %zu}\n",
                per_peer, static_cast<double>(full.receives - empty.receives) / messages,
                static_cast<double>(full.sends - empty.sends) / messages, before);
    return 0;
}

std::uint64_t number(const char* text) {
    return std::strtoull(text, nullptr, 10);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    const bool authenticated = argc == 7 && argv[6] == std::string("auth");
    if (what == "receive" && (argc == 5 || argc == 6 || authenticated))
        return receive(number(argv[2]), static_cast<std::uint16_t>(number(argv[3])), number(argv[4]),
                       argc > 5 ? number(argv[5]) : 1, authenticated);
    if (what == "memory" && argc == 4)
        return memory(static_cast<std::uint16_t>(number(argv[2])),
                      static_cast<std::uint32_t>(number(argv[3])));
    std::fprintf(stderr, "usage: %s receive BYTES PEERS PACKETS [BURST [auth]] | memory PEERS MESSAGES\n",
                 argv[0]);
    return 2;
}
