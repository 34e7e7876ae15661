// A job of three ranks in one process. All of them are endpoints that mean well, on a network that loses,
// repeats, delays and reorders; and somebody who has the job's key sends rank 0 packets that it has seen
// before with some of their fields changed. Others, who are at no rank's address, name messages that are
// under way there, and change nothing. Rank 0 must stay within its memory, keep its books, complete each post
// once at most, send only packets that a receiver accepts, and never have endless work at one moment. Where
// nothing was forged, or packets are authenticated and the forger is a stranger without their key, all posts
// end well, with the right bytes.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "csaud_host/endpoint/endpoint.hpp"
#include "csaud_host/wire/wire.hpp"
#include "expect.hpp"
#include "forgery.hpp"
#include "ranks.hpp"
#include "script.hpp"
#include "traffic.hpp"

namespace {

namespace wire = csaud::wire;
using namespace csaud::fuzz;
using csaud::MessageName;
using csaud::Nanos;

constexpr int kEnough = 20'000;  // packets or timers at one moment: more is a loop without end
constexpr std::size_t kTos = 1;  // its place in a packet
constexpr std::byte kEct0{wire::kEct0};

class Job {
  public:
    explicit Job(const Record& settings) : forger_(forger(settings)), honest_(!forgetful(settings)) {
        for (std::uint16_t rank = 0; rank < kWorld; ++rank) {
            Rank& r = *ranks_.emplace_back(std::make_unique<Rank>(configuration(settings, rank)));
            for (std::uint16_t peer = 0; peer < kWorld; ++peer) {
                if (peer != rank) r.endpoint.set_peer(peer, kAddress + peer, kQpn + peer);
            }
        }
    }

    void play(const Script& script) {
        for (const Record& r : script.records()) {
            step(r);
            for (std::uint16_t rank = 0; rank < kWorld; ++rank) settle(rank);
        }
        if (honest_) end_well();
    }

  private:
    using Key = std::array<std::uint32_t, 4>;  // source, destination, coll_seq, step
    using Sizes = std::map<Key, std::size_t>;

    void step(const Record& r) {
        switch (r.what()) {
            case Op::exchange:
                post(r, true);
                return post(r, false);
            case Op::send:
                return post(r, true);
            case Op::receive:
                return post(r, false);
            case Op::run:
                mark_one_in_ = r.which % 4;
                together_ = std::array{1U, 2U, 8U, 32U}[r.field[0] % 4];
                for (unsigned left = 1 + r.value[0] % 128; left-- > 0 && go_on();) {
                }
                return;
            case Op::pass:
                now_ += r.value[0] % csaud::kSecond;
                return;
            case Op::arrive:
                return arrive(r.which, 1);
            case Op::lose:
                return traffic_.lose(r.which);
            case Op::repeat:
                if (const UnderWay* const old = traffic_.seen(r.which)) deliver(*old);
                return;
            case Op::cut:
                return cut(r);
            case Op::forge:
                return forge(r);
            case Op::storm:
                return storm(r);
            case Op::damage:
                return damage(r);
            case Op::deny:
                return rank(0).endpoint.deny_path(r.which % kPaths, (r.which & 128U) != 0);
            case Op::say: {
                const auto to = static_cast<std::uint16_t>((r.which % kWorld + 1 + r.which / 4 % 2) % kWorld);
                return rank(r.which % kWorld).endpoint.tell(to, note(r));
            }
            case Op::abort:
                if (r.value[0] != 0) return;
                honest_ = false;
                return rank(r.which % kWorld).endpoint.abort(now_, note(r));
            case Op::intrude:
                return intrude(r);
        }
    }

    Rank& rank(std::size_t i) { return *ranks_[i]; }
    static std::string note(const Record& r) { return std::string(r.value[1] % 300, 'n'); }

    // Name, size and ends of a message are in the same places of every record.
    void post(const Record& r, bool send) {
        const auto src = static_cast<std::uint16_t>(r.which % kWorld);
        const auto dst = static_cast<std::uint16_t>((src + 1 + r.which / 4 % 2) % kWorld);
        const MessageName name{.epoch = kEpoch,
                               .coll_seq = r.value[1] % 32,
                               .step = static_cast<std::uint16_t>(r.value[1] / 32 % 2),
                               .src_rank = src};
        const std::size_t size = r.value[0] % (40 * kPayload);
        csaud::Hints hints;
        hints.cls = r.more % 5;
        hints.fan_in = r.more / 5 % 3;
        post(src, dst, name, size, send, hints);
    }

    void post(std::uint16_t src, std::uint16_t dst, const MessageName& name, std::size_t size, bool send,
              const csaud::Hints& hints) {
        Bytes& buffer = buffers_.emplace_back(size);
        if (send) {
            for (std::size_t i = 0; i < size; ++i) buffer[i] = content(name, i);
        }
        Rank& by = rank(send ? src : dst);
        const std::uint16_t peer = send ? dst : src;
        try {
            const std::uint64_t id = send ? by.endpoint.post_send(name, peer, buffer, hints, now_)
                                          : by.endpoint.post_recv(name, peer, buffer, hints, now_);
            CSAUD_EXPECT(by.open.emplace(id, Post{send, peer, name, &buffer}).second);
            // A name is good once: who uses it again, of a message that is finished, may well wait for ever.
            Sizes& sizes = send ? sent_ : awaited_;
            honest_ &= sizes.emplace(Key{src, dst, name.coll_seq, name.step}, size).second;
        } catch (const std::invalid_argument&) {
            // a name that is not to be had: said at once, nothing posted
        }
    }

    // The next thing that happens by itself.
    bool go_on() {
        if (traffic_.under_way()) {
            arrive(0, together_);
            return true;
        }
        Nanos next = csaud::kNever;
        for (const auto& r : ranks_) next = std::min(next, r->endpoint.next_deadline());
        if (next == csaud::kNever) return false;
        now_ = std::max(now_, next);
        for (std::uint16_t r = 0; r < kWorld; ++r) settle(r);
        return true;
    }

    void arrive(std::size_t which, std::size_t most) {
        std::vector<Bytes> packets;
        const std::uint16_t to = traffic_.take(which, most, packets);
        for (Bytes& packet : packets) {
            if (mark_one_in_ != 0 && ++arrived_ % mark_one_in_ == 0 && packet[kTos] == kEct0) mark(packet);
        }
        deliver(to, packets);
        settle(to);
    }

    // Congestion experienced; the iCRC does not cover it.
    static void mark(Bytes& packet) { packet[kTos] = std::byte{wire::kCongestionExperienced}; }

    // As a switch would: to the receiver, or back to the sender.
    void cut(const Record& r) {
        const UnderWay* const old = traffic_.seen(r.which);
        if (old == nullptr) return;
        Forgery loss(old->packet, forger_);
        if (loss.csa().type != wire::Type::data) return;
        UnderWay packet{old->to, {}};
        if ((r.field[0] & 1U) != 0) {
            packet.to = static_cast<std::uint16_t>(loss.route().src_ipv4 - kAddress);
            std::swap(loss.route().src_ipv4, loss.route().dst_ipv4);
            std::swap(loss.route().src_qpn, loss.route().dst_qpn);
        }
        loss.csa().type = wire::Type::loss;
        loss.csa().flags |= wire::kTrimmed;
        loss.loss_form((r.field[0] & 2U) != 0);
        packet.packet = loss.packet();
        deliver(packet);
    }

    // What rank 0 got, or sent itself, comes to it from the other end, changed.
    Forgery seen_by_rank_0(const UnderWay& old) {
        Forgery packet(old.packet, forger_);
        wire::Route& route = packet.route();
        const std::uint32_t other = old.to != 0 ? old.to : route.src_ipv4 - kAddress;
        route.src_ipv4 = kAddress + other;
        route.src_qpn = kQpn + other;
        route.dst_ipv4 = kAddress;
        route.dst_qpn = kQpn;
        if (old.to != 0) packet.turn_round(old.to);
        return packet;
    }

    void forge(const Record& r) {
        if (const std::optional<Bytes> packet = forged(r)) deliver({0, *packet});
    }

    std::optional<Bytes> forged(const Record& r) {
        const UnderWay* const old = traffic_.of_type(r.which);
        if (old == nullptr) return {};
        honest_ &= forger_.stranger;
        Forgery packet = seen_by_rank_0(*old);
        packet.change(r.field[0], r.value[0]);
        packet.change(r.field[1], r.value[1]);
        if (r.more > 16) packet.change(static_cast<std::uint8_t>(r.more), r.more >> 8);
        return packet.packet();
    }

    // Who does not send from the address and queue pair of the rank that it names is nobody, also where it
    // guesses a message that rank 0 has under way.
    void intrude(const Record& r) {
        const auto& open = rank(0).open;
        const UnderWay* const old = traffic_.of_type(static_cast<std::uint8_t>(r.more));
        if (old == nullptr || open.empty()) return;
        constexpr std::array kSaid{wire::Type::ack,   wire::Type::abort,     wire::Type::state,
                                   wire::Type::probe, wire::Type::probe_rsp, wire::Type::data};
        const Post& post =
            std::next(open.begin(), r.which % static_cast<std::ptrdiff_t>(open.size()))->second;
        const std::size_t packets = std::max<std::size_t>(1, (post.buffer->size() + kPayload - 1) / kPayload);
        Forgery packet = seen_by_rank_0(*old);
        packet.claim(kSaid[r.field[0] % kSaid.size()], post.name, post.peer,
                     static_cast<std::uint16_t>(packets));
        packet.change(r.field[1], r.value[1]);
        if (packet.csa().type == wire::Type::loss) return;  // a switch's, as documented
        packet.route().src_ipv4 = kAddress + post.peer + (r.value[0] % 2 != 0 ? kWorld : 0U);
        packet.route().src_qpn = kQpn + post.peer + (r.value[0] % 2 != 0 ? 0U : kWorld);
        const std::uint64_t before = taken();
        deliver({0, packet.packet()});
        CSAUD_EXPECT(taken() == before);
    }

    // Packets that rank 0 did not refuse.
    std::uint64_t taken() {
        const csaud::Stats& s = rank(0).endpoint.stats();
        return s.rx_data + s.rx_parity + s.rx_control;
    }

    void storm(const Record& r) {
        csaud::testing::SplitMix random((std::uint64_t{r.value[0]} << 32) | r.value[1]);
        std::vector<Bytes> batch;
        const std::size_t most = 1 + r.more % 16;
        for (int left = 64; left-- > 0;) {
            if (std::optional<Bytes> packet = forged(Script::drawn(random)))
                batch.push_back(std::move(*packet));
            if (batch.size() < most && left != 0) continue;
            deliver(0, batch);
            batch.clear();
            settle(0);
        }
    }

    void damage(const Record& r) {
        const UnderWay* const old = traffic_.seen(r.which);
        if (old == nullptr) return;
        honest_ = false;
        Bytes packet = seen_by_rank_0(*old).packet();
        for (std::size_t i = 0; i < r.value.size(); ++i)
            packet[r.value[i] % packet.size()] ^= static_cast<std::byte>(r.field[i]);
        if (r.more > 16) packet.resize(r.more % (packet.size() + 1));
        deliver({0, std::move(packet)});
    }

    void deliver(const UnderWay& packet) {
        csaud::Endpoint& to = rank(packet.to).endpoint;
        const std::uint64_t before = accounted(to);
        to.on_packet(packet.packet, now_);
        CSAUD_EXPECT(accounted(to) == before + 1);
    }

    // Together, as devices give them.
    void deliver(std::uint16_t rank_of, std::span<const Bytes> packets) {
        const std::vector<std::span<const std::byte>> spans(packets.begin(), packets.end());
        csaud::Endpoint& to = rank(rank_of).endpoint;
        const std::uint64_t before = accounted(to);
        std::size_t taken = 0;
        to.on_packets(spans, now_, [&](std::size_t i) {
            CSAUD_EXPECT(i == taken);
            CSAUD_EXPECT(accounted(to) == before + taken++);
        });
        CSAUD_EXPECT(taken == packets.size() && accounted(to) == before + taken);
    }

    // Each packet that comes is in exactly one of these.
    static std::uint64_t accounted(const csaud::Endpoint& endpoint) {
        const csaud::Stats& s = endpoint.stats();
        CSAUD_EXPECT(s.rx_loss_notices == s.rx_loss_trimmed + s.rx_loss_bounced);
        CSAUD_EXPECT(s.rx_ecn <=
                     s.rx_data + s.rx_parity + s.rx_bad_index);  // early data may prove wrong later
        return s.rx_data + s.rx_parity + s.rx_control + s.rx_loss_notices + s.rx_loss_repeats +
               s.rx_bad_length + s.rx_bad_icrc + s.rx_bad_magic + s.rx_bad_qkey + s.rx_bad_qpn +
               s.rx_stale_epoch + s.rx_bad_source + s.rx_bad_auth + s.rx_bad_index + s.rx_bad_loss;
    }

    void settle(std::uint16_t number) {
        Rank& r = rank(number);
        int work = 0;
        for (bool busy = true; busy;) {
            CSAUD_EXPECT(++work < kEnough);
            busy = false;
            if (r.endpoint.next_deadline() <= now_) {
                r.endpoint.on_timer(now_);
                busy = true;
            }
            csaud::TxPacket packet;
            while (r.endpoint.next_tx(packet, now_)) {
                CSAUD_EXPECT(++work < kEnough);
                send(packet);
                busy = true;
            }
            csaud::Completion completion;
            while (r.endpoint.next_completion(completion)) {
                complete(r, completion);
                busy = true;
            }
        }
        for (const auto& [from, said] : r.endpoint.take_notes())
            CSAUD_EXPECT(from < kWorld && said.size() <= wire::kMaxNoteBytes);
        CSAUD_EXPECT(r.endpoint.abort_note().size() <= wire::kMaxNoteBytes);
    }

    void complete(Rank& r, const csaud::Completion& completion) {
        const auto found = r.open.extract(completion.id);
        CSAUD_EXPECT(!found.empty());
        const Post& post = found.mapped();
        CSAUD_EXPECT(post.send == (completion.kind == csaud::CompletionKind::send));
        if (completion.status != csaud::Status::ok) {
            CSAUD_EXPECT(!honest_ || completion.status != csaud::Status::aborted);
            failed_ = true;
            return;
        }
        CSAUD_EXPECT(completion.bytes == post.buffer->size());
        if (post.send || !honest_) return;
        for (std::size_t i = 0; i < post.buffer->size(); ++i)
            CSAUD_EXPECT((*post.buffer)[i] == content(post.name, i));
    }

    // The packet must be one that its receiver would not refuse.
    void send(const csaud::TxPacket& tx) {
        Bytes packet(tx.head.begin(), tx.head.begin() + tx.head_len);
        packet.insert(packet.end(), tx.payload.begin(), tx.payload.end());
        packet.insert(packet.end(), tx.tail.begin(), tx.tail.begin() + tx.tail_len);
        wire::Decoded read;
        const std::uint32_t to = tx.dst_ipv4 - kAddress;
        CSAUD_EXPECT(to < kWorld);
        const wire::Expect expect{.qpn = kQpn + to, .qkey = kQkey, .tag_bytes = forger_.auth.bytes()};
        CSAUD_EXPECT(wire::decode(packet, expect, read) == wire::Fault::none);
        CSAUD_EXPECT(read.csa.path_id / kPaths == read.route.src_ipv4 - kAddress);
        const bool of_path =
            (read.csa.flags & wire::kEcnEcho) != 0 || (read.control.flags & wire::kOfPath) != 0;
        CSAUD_EXPECT(!of_path || read.control.echoed_path < kPaths);
        traffic_.add({static_cast<std::uint16_t>(to), std::move(packet)}, read.csa.type,
                     to == 0 || read.route.src_ipv4 == kAddress);
    }

    // Nobody lied: what was posted at one end only is posted at the other, in whatever order, and ends.
    void end_well() {
        for (const auto& [key, size] : sent_) match(key, size, awaited_, false);
        for (const auto& [key, size] : awaited_) match(key, size, sent_, true);
        for (int left = 200'000; left-- > 0 && !failed_ && !mismatched_ && unfinished();)
            CSAUD_EXPECT(go_on());
        CSAUD_EXPECT(failed_ || mismatched_ || !unfinished());
    }

    void match(const Key& key, std::size_t size, const Sizes& others, bool send) {
        const auto other = others.find(key);
        if (other != others.end()) {
            mismatched_ |= other->second != size;
            return;
        }
        const auto src = static_cast<std::uint16_t>(key[0]);
        const MessageName name{
            .epoch = kEpoch, .coll_seq = key[2], .step = static_cast<std::uint16_t>(key[3]), .src_rank = src};
        post(src, static_cast<std::uint16_t>(key[1]), name, size, send, {});
    }

    bool unfinished() const {
        return std::ranges::any_of(ranks_, [](const auto& r) { return !r->open.empty(); });
    }

    const Forger forger_;
    std::deque<Bytes> buffers_;  // outlive the endpoints
    std::vector<std::unique_ptr<Rank>> ranks_;
    Traffic traffic_;
    Sizes sent_, awaited_;
    Nanos now_ = csaud::kSecond;
    unsigned mark_one_in_ = 0;  // of the DATA that arrives; 0: none
    unsigned arrived_ = 0;
    std::size_t together_ = 1;  // packets that a device gives at once, at most
    bool honest_;               // nothing was forged, no name used twice, and nobody gave up
    bool failed_ = false;       // some post did not end well
    bool mismatched_ = false;   // both ends hold a name for messages of different sizes
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Script script(data, size);
    if (script.records().empty()) return 0;
    Job(script.records().front()).play(script);
    return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
    Script script(data, size);
    script.mutate(seed);
    return script.write(data, max_size);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data, std::size_t size,
                                                 const std::uint8_t* other, std::size_t other_size,
                                                 std::uint8_t* out, std::size_t max_size, unsigned int seed) {
    Script script(data, size);
    script.cross(Script(other, other_size), seed);
    return script.write(out, max_size);
}
