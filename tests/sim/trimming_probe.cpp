// The cores of the transports for trimming fabrics, each by itself. Says OK, or what was otherwise.
//
//   trimming_probe TEST SEED
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "csaud_sim/baselines/arrival_window.hpp"
#include "csaud_sim/baselines/dcp_sender.hpp"
#include "csaud_sim/baselines/ndp_sender.hpp"
#include "csaud_sim/baselines/pull_pacer.hpp"
#include "csaud_sim/baselines/uec_receiver.hpp"
#include "csaud_sim/baselines/uec_sender.hpp"

using namespace csaud;
using namespace csaud::sim;
using namespace csaud::sim::baselines;

namespace {

#define EXPECT(what)                                       \
    do {                                                   \
        if (!(what)) {                                     \
            std::printf("line %d: %s\n", __LINE__, #what); \
            std::exit(1);                                  \
        }                                                  \
    } while (false)

constexpr std::uint16_t kPaths = 16;
constexpr Nanos kRtt = 14'000;

std::uint16_t low(std::uint16_t path) {
    return path & (kPaths - 1);
}

void oblivious(unsigned seed) {
    const auto policy = make_path_policy("oblivious", kPaths, seed);
    std::set<std::vector<std::uint16_t>> orders;
    for (int round = 0; round < 8; ++round) {
        std::vector<std::uint16_t> order;
        for (int i = 0; i < kPaths; ++i) order.push_back(low(policy->next(0)));
        EXPECT(std::set(order.begin(), order.end()).size() == kPaths);
        orders.insert(order);
    }
    EXPECT(orders.size() > 1);
}

void bitmap(unsigned seed) {
    const auto policy = make_path_policy("bitmap", kPaths, seed);
    policy->learn(3, PathNews::trimmed, 0);
    // Forgiven a step each time that it would have been its turn, four in all.
    int rounds = 0;
    for (bool found = false; !found; ++rounds) {
        EXPECT(rounds <= 5);
        for (int i = 0; i < kPaths && !found; ++i) found = low(policy->next(0)) == 3;
    }
    EXPECT(rounds >= 4);
    const auto late = make_path_policy("bitmap", kPaths, seed);
    late->learn(0, PathNews::timeout, 0);  // nothing is known of any of them
    std::map<std::uint16_t, int> used;
    for (int i = 0; i < 2 * kPaths; ++i) ++used[low(late->next(0))];
    for (std::uint16_t path = 0; path < kPaths; ++path) EXPECT(used[path] == 2);
    for (std::uint16_t path = 0; path < kPaths; ++path) policy->learn(path, PathNews::trimmed, 0);
    for (int i = 0; i < 100; ++i) policy->next(0);  // where all are bad, one is taken all the same
}

void reps(unsigned seed) {
    const auto policy = make_path_policy("reps", kPaths, seed);
    for (const std::uint16_t path : {7, 5, 7}) policy->learn(path, PathNews::good, 0);
    policy->learn(1, PathNews::marked, 0);
    for (const std::uint16_t path : {7, 5, 7}) EXPECT(policy->next(0) == path);
    for (std::uint16_t path = 0; path < 12; ++path) policy->learn(path, PathNews::good, 0);
    for (std::uint16_t path = 4; path < 12; ++path) EXPECT(policy->next(0) == path);  // the last eight
    // A timeout freezes what is known: it is used over and over.
    for (std::uint16_t path = 0; path < 8; ++path) policy->learn(path, PathNews::good, 0);
    policy->learn(0, PathNews::timeout, 0);
    std::map<std::uint16_t, int> used;
    for (int i = 0; i < 80; ++i) ++used[policy->next(1)];
    for (std::uint16_t path = 0; path < 8; ++path) EXPECT(used[path] == 10);
}

void mixed(unsigned seed) {
    const auto policy = make_path_policy("mixed", kPaths, seed);
    policy->learn(9, PathNews::good, 0);
    EXPECT(policy->next(0) == 9);
    policy->learn(4, PathNews::trimmed, 0);
    for (int i = 0; i < 3 * kPaths; ++i) EXPECT(low(policy->next(0)) != 4);
}

void nscc(unsigned) {
    NsccConfig config;
    config.base_rtt = kRtt;
    Nscc fresh(config);
    const std::int64_t bdp = kRtt * 100 / 8;
    EXPECT(fresh.window() == bdp * 3 / 2);
    // Trims of a whole window in a row, while a tenth of it arrives: the window becomes what arrived.
    Nscc cut(config);
    cut.on_ack({4150, kRtt, false, 0}, 1);
    const Nanos period = kRtt + kRtt * 3 / 4;
    for (int i = 0; i < 4; ++i) cut.on_ack({4150, 3 * kRtt, true, bdp}, 2 + i);
    cut.on_trimmed(4150, kRtt, bdp, 2 * period);
    EXPECT(cut.window() == 4 * 4150);
    // Acknowledgements of what was in flight then do not cut it again.
    cut.on_trimmed(4150, kRtt, bdp, 2 * period + 1);
    EXPECT(cut.window() == 4 * 4150);
    // Undelayed ones let it grow to the largest again.
    Nanos now = 4 * period;
    for (int i = 0; i < 400; ++i) cut.on_ack({4150, kRtt, false, 4150}, now += 1000);
    EXPECT(cut.window() == cut.largest_window());
    // Marked, late ones shrink it, by half in a round trip at most.
    std::int64_t before = cut.window();
    for (int i = 0; i < 300; ++i) cut.on_ack({4150, 4 * kRtt, true, 4150}, now += 100);
    EXPECT(cut.window() < before);
    EXPECT(cut.window() >= before / 8);
    // Marked ones that are not late leave it.
    Nscc marked(config);
    marked.on_trimmed(100'000, kRtt, 0, 1);
    before = marked.window();
    marked.on_ack({4150, kRtt, true, 0}, 2);
    EXPECT(marked.window() <= before + 4150);
}

// Between the cores: packets are cut, lost, delayed by chance; answers are delayed and lost.
template <class Packet>
struct Wire {
    std::multimap<Nanos, Packet> flying;
    void carry(const Packet& packet, Nanos arrives) { flying.emplace(arrives, packet); }
    bool due(Nanos now, Packet& packet) {
        if (flying.empty() || flying.begin()->first > now) return false;
        packet = flying.begin()->second;
        flying.erase(flying.begin());
        return true;
    }
};

void uec(unsigned seed) {
    std::mt19937 random(seed);
    const auto chance = [&](int percent) { return static_cast<int>(random() % 100) < percent; };
    const char* const policies[] = {"oblivious", "bitmap", "reps", "mixed"};
    NsccConfig config;
    config.base_rtt = kRtt;
    UecSender sender(config, 100'000, make_path_policy(policies[seed % 4], kPaths, seed));
    UecReceiver receiver(config.header, 16'384);
    Wire<UecData> there;
    Wire<UecReceiver::Answer> back;
    const std::uint32_t packets = 500;
    std::uint32_t taken = 0;
    for (std::uint32_t i = 0; i < packets; ++i) sender.post(i % 7 == 0 ? 100 : 4086);
    Nanos now = 0;
    for (; sender.acked() < packets; now += 100) {
        EXPECT(now < 100'000'000);
        if (now % 400 == 0 && sender.may_send()) {
            EXPECT(sender.in_flight() < sender.congestion().window());
            const UecData data = sender.send(now);
            if (!chance(2)) there.carry(data, now + 6000 + static_cast<Nanos>(random() % 9000));
        }
        UecData data;
        while (there.due(now, data)) {
            const bool cut = chance(10);
            const auto answer =
                cut ? receiver.on_trimmed(data, chance(50), chance(30)) : receiver.on_data(data, chance(20));
            EXPECT(!(cut && answer.taken));
            taken += answer.taken;
            if (!chance(2)) back.carry(answer, now + 6000 + static_cast<Nanos>(random() % 3000));
        }
        UecReceiver::Answer answer;
        while (back.due(now, answer)) {
            if (answer.ack) sender.on_ack(*answer.ack, now);
            if (answer.nack) sender.on_nack(*answer.nack, now);
        }
        if (sender.deadline() <= now) sender.on_timer(now);
    }
    EXPECT(taken == packets);
    EXPECT(!sender.may_send());
    EXPECT(sender.deadline() == kNever);
}

void ndp(unsigned seed) {
    std::mt19937 random(seed);
    const auto chance = [&](int percent) { return static_cast<int>(random() % 100) < percent; };
    NdpSender sender(5, 100'000, make_path_policy("oblivious", kPaths, seed));
    std::set<std::uint32_t> arrived;
    Wire<NdpSender::Shot> there;
    const std::uint32_t packets = 200;
    std::uint32_t pulls = 0;
    for (std::uint32_t i = 0; i < packets; ++i) sender.post(9000);
    int burst = 0;
    while (sender.may_send()) there.carry(sender.send(0), 7000 + burst++);
    EXPECT(burst == 5);
    for (Nanos now = 0; sender.acked() < packets; now += 100) {
        EXPECT(now < 100'000'000);
        NdpSender::Shot shot;
        while (there.due(now, shot)) {
            if (chance(3)) continue;
            if (chance(20)) {
                sender.on_nack(shot.seq, shot.path, now);
            } else {
                arrived.insert(shot.seq);
                sender.on_ack(shot.seq, shot.path, now);
            }
            ++pulls;
            if (!chance(3)) sender.on_pulls(pulls, now);
        }
        if (sender.deadline() <= now) sender.on_timer(now);
        while (sender.may_send())
            there.carry(sender.send(now), now + 7000 + static_cast<Nanos>(random() % 5000));
    }
    EXPECT(arrived.size() == packets);
    EXPECT(sender.deadline() == kNever);
}

// Headers come back, or are lost as well; what arrives is counted.
void dcp(unsigned seed) {
    std::mt19937 random(seed);
    const auto chance = [&](int percent) { return static_cast<int>(random() % 100) < percent; };
    DcpSender sender(20, 100'000);
    ArrivalWindow arrived;
    Wire<DcpSender::Shot> there;
    const std::uint32_t packets = 300;
    for (std::uint32_t i = 0; i < packets; ++i) sender.post(4096);
    int burst = 0;
    while (sender.may_send()) there.carry(sender.send(0), 7000 + burst++);
    EXPECT(burst == 20);
    for (Nanos now = 0; sender.acked() < packets; now += 100) {
        EXPECT(now < 100'000'000);
        DcpSender::Shot shot;
        while (there.due(now, shot)) {
            if (chance(1)) continue;
            if (chance(20)) {
                sender.on_cut(shot.seq, now);
                continue;
            }
            arrived.take(shot.seq);
            if (!chance(3)) sender.on_ack(arrived.next(), arrived.count(), now);
        }
        if (sender.deadline() <= now) sender.on_timer(now);
        while (sender.may_send())
            there.carry(sender.send(now), now + 7000 + static_cast<Nanos>(random() % 5000));
    }
    EXPECT(arrived.next() == packets);
    EXPECT(sender.deadline() == kNever);
}

void pacer(unsigned) {
    PullPacer pacer(100);
    EXPECT(pacer.next() == kNever);
    for (const std::uint32_t connection : {2, 2, 2, 0, 5}) pacer.ask(connection);
    std::vector<std::uint32_t> order;
    for (Nanos now = 1000; pacer.next() != kNever; now += 100) {
        EXPECT(pacer.next() <= now);
        order.push_back(pacer.take(now));
        EXPECT(pacer.next() == kNever || pacer.next() == now + 100);
        if (order.size() == 3) pacer.forget(2);
    }
    EXPECT((order == std::vector<std::uint32_t>{2, 0, 5}));
    pacer.ask(2);
    EXPECT(pacer.first() == 2);
}

}  // namespace

int main(int, char** argv) {
    const std::map<std::string, void (*)(unsigned)> tests{{"oblivious", oblivious},
                                                          {"bitmap", bitmap},
                                                          {"reps", reps},
                                                          {"mixed", mixed},
                                                          {"nscc", nscc},
                                                          {"uec", uec},
                                                          {"ndp", ndp},
                                                          {"pacer", pacer},
                                                          {"dcp", dcp}};
    tests.at(argv[1])(static_cast<unsigned>(std::atoi(argv[2])));
    std::puts("OK");
}
