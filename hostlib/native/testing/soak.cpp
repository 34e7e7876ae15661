#include "soak.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "splitmix.hpp"
#include "virtual_network.hpp"

namespace csaud::testing {
namespace {

struct Plan {
    std::uint16_t world = 2;
    EndpointConfig config;
    LinkModel link;
    Chance chance;
    bool any_order = false;
};

double one_of(SplitMix& random, std::initializer_list<double> values) {
    return *(values.begin() + random.below(values.size()));
}

Plan plan_of(SplitMix& random, std::uint64_t seed) {
    Plan p;
    p.world = static_cast<std::uint16_t>(2 + random.below(4));
    p.config.epoch = static_cast<std::uint16_t>(random.next());
    p.config.qkey = 0x1234567;
    p.config.path_mtu = random.chance(0.5) ? 96 : 256;
    p.config.paths = static_cast<std::uint16_t>(1 + random.below(8));
    p.config.window = static_cast<std::uint32_t>(1 + random.below(48));
    p.config.early_pool_packets = static_cast<std::uint32_t>(p.world + random.below(128));
    p.config.shaping = random.chance(0.8);
    p.config.shared_window = static_cast<std::uint32_t>(1 + random.below(96));
    p.any_order = random.chance(0.3);
    if (p.any_order) p.config.early_pool_packets = 4096;
    p.config.rate_bps = 1'000'000'000;
    p.config.rtt_initial = kMillisecond;
    p.config.linger = 700 * kMillisecond;  // longer than the slowest probe of a peer
    if (random.chance(0.3)) p.config.peer_rest = kMillisecond * static_cast<Nanos>(1 + random.below(60));
    p.config.path_policy = static_cast<PathPolicyName>(random.below(kPathPolicies.size()));
    p.config.ordered = random.chance(0.5);
    if (random.chance(0.3)) p.config.bits = {.path_seq = 8, .tx_ts = 24, .credit = 8, .ecn = 6};
    if (random.chance(0.3)) p.config.pace_bps = 200'000'000;
    if (random.chance(0.2) && !p.any_order) p.config.finished_memory = 1;

    p.link.latency = static_cast<Nanos>(5'000 + random.below(2'000'000));
    p.link.jitter = random.chance(0.5) ? p.link.latency / 2 : 0;
    p.link.path_skew = random.chance(0.3) ? p.link.latency / 8 : 0;
    p.link.fifo_paths = p.config.ordered && random.chance(0.7);
    if (random.chance(0.4)) p.link.rate_bps = 200'000'000;
    p.chance.drop_data = one_of(random, {0, 0.01, 0.05, 0.2});
    p.chance.drop_control = one_of(random, {0, 0.01, 0.05, 0.2});
    p.chance.trim = one_of(random, {0, 0, 0.02, 0.1});
    p.link.signal.bounce = random.chance(0.4);
    p.link.signal.trim = !p.link.signal.bounce || random.chance(0.5);
    p.link.signal.icrc = random.chance(0.3);
    p.link.signal.kept = static_cast<std::size_t>(wire::kHeaderBytes + random.below(64));
    p.config.ecn = random.chance(0.8);
    p.chance.mark = one_of(random, {0, 0.02, 0.3});
    p.chance.duplicate = one_of(random, {0, 0, 0.02});
    p.chance.late = one_of(random, {0, 0.02, 0.1});
    p.chance.late_by = 3 * p.link.latency;
    p.chance.seed = seed ^ 0x5eed;
    return p;
}

struct Message {
    std::uint16_t src = 0, dst = 0;
    MessageName name;
    std::vector<std::byte> data;
    Hints hints;
    std::uint64_t recv_id = 0;
};

}  // namespace

SoakResult soak(std::uint64_t seed) {
    SplitMix random(seed);
    const Plan plan = plan_of(random, seed);
    VirtualNetwork net(plan.world, plan.config, plan.link, plan.chance);
    const std::size_t payload = net.endpoint(0).payload_per_packet();

    std::vector<Message> messages(4 + random.below(24));
    struct Post {
        Nanos at;
        std::size_t message;
        bool send;
    };
    std::vector<Post> posts;
    // Receives of one (source, destination) pair are posted in the order of the sends, as collectives do;
    // with an early pool that has room for all of them, in any order.
    std::map<std::pair<std::uint16_t, std::uint16_t>, Nanos> last_recv;
    const std::uint32_t first_seq =
        static_cast<std::uint32_t>(0) - static_cast<std::uint32_t>(random.below(16));
    Nanos send_at = 0;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        Message& m = messages[i];
        m.src = static_cast<std::uint16_t>(random.below(plan.world));
        m.dst = static_cast<std::uint16_t>((m.src + 1 + random.below(plan.world - 1U)) % plan.world);
        m.hints.fan_in = static_cast<std::uint16_t>(random.below(plan.world));
        m.name.comm = static_cast<std::uint16_t>(random.below(2));
        m.name.coll_seq = first_seq + static_cast<std::uint32_t>(i);
        m.name.step = static_cast<std::uint16_t>(random.below(4));
        m.name.chunk = static_cast<std::uint16_t>(random.below(4));
        const std::uint64_t packets =
            random.chance(0.3) ? random.below(3) : random.below(random.chance(0.1) ? 512 : 60);
        m.data.resize(packets * payload + (packets < 512 ? random.below(payload) : 0));
        if (random.chance(0.1)) m.data.clear();
        for (std::byte& b : m.data) b = static_cast<std::byte>(random.next());
        send_at += static_cast<Nanos>(random.below(static_cast<std::uint64_t>(4 * plan.link.latency)));
        Nanos& recv_at = last_recv[{m.src, m.dst}];
        if (plan.any_order) recv_at = 0;
        recv_at = std::max(recv_at,
                           send_at + static_cast<Nanos>(random.below(20 * kMillisecond)) - 10 * kMillisecond);
        posts.push_back({send_at, i, true});
        posts.push_back({std::max<Nanos>(recv_at, 0), i, false});
    }
    std::stable_sort(posts.begin(), posts.end(), [](const Post& a, const Post& b) { return a.at < b.at; });
    for (const Post& post : posts) {
        net.run_until(post.at);
        Message& m = messages[post.message];
        if (post.send) {
            net.post_send(m.src, m.dst, m.name, m.data, m.hints);
        } else {
            m.recv_id = net.post_recv(m.dst, m.src, m.name, m.data.size(), m.hints);
        }
    }

    SoakResult result;
    if (!net.settle(net.now() + 300 * kSecond)) {
        result.failure = "not settled: " + std::to_string(net.unfinished()) + " posts unfinished; ";
    }
    for (const Message& m : messages) {
        if (net.received(m.dst, m.recv_id) != m.data) {
            result.failure += "message " + std::to_string(m.name.coll_seq) + " differs; ";
        }
    }
    for (std::uint16_t r = 0; r < plan.world; ++r) {
        for (const Completion& c : net.completions(r)) {
            if (c.status != Status::ok)
                result.failure += std::string("a post ended ") + to_string(c.status) + "; ";
        }
        const Stats& s = net.endpoint(r).stats();
#define CSAUD_ADD(name, help) result.totals.name += s.name;
        CSAUD_STATS(CSAUD_ADD)
#undef CSAUD_ADD
    }
    result.failure += net.unbalanced();
    result.packets = net.packets();
    result.virtual_ns = net.now();
    return result;
}

}  // namespace csaud::testing
