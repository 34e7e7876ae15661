// Asks an engine for events at random, cancels some, and compares what comes with a sorted list. Says OK, or
// what was otherwise.
//
//   engine_probe SEED EVENTS
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "csaud_sim/engine/event_heap.hpp"

using csaud::sim::Actor;
using csaud::sim::EventHeap;
using csaud::sim::EventId;
using csaud::sim::Nanos;

namespace {

struct Probe final : Actor {
    explicit Probe(unsigned seed) : random(seed) {}

    void act(std::uint32_t what, Nanos now) override {
        const auto [key, first] = *expected.begin();
        if (key.first != now || first.what != what || engine.now() != now) {
            std::printf("%u at %lld, expected %u at %lld\n", what, static_cast<long long>(now), first.what,
                        static_cast<long long>(key.first));
            std::exit(1);
        }
        expected.erase(expected.begin());
        ++came;
        // As many more as keep it going, and one in two is cancelled.
        for (int i = 0; i < 2 && asked < wanted; ++i) ask();
        while (expected.size() > 200 || (!expected.empty() && random() % 3 == 0)) cancel();
        if (came % 1000 == 0) engine.stop();
    }

    void ask() {
        // Most come soon, some after what the engine's ring spans.
        const Nanos time = engine.now() + static_cast<Nanos>(random() % (random() % 4 == 0 ? 12'000 : 50));
        const EventId id = engine.at(time, *this, asked);
        expected[{time, asked}] = {asked, id};
        ++asked;
    }

    void cancel() {
        const auto found = std::next(expected.begin(), static_cast<long>(random() % expected.size()));
        engine.cancel(found->second.id);
        engine.cancel(found->second.id);  // which is over: nothing happens
        expected.erase(found);
        ++cancelled;
    }

    struct Event {
        std::uint32_t what;
        EventId id;
    };
    EventHeap engine;
    std::mt19937 random;
    std::map<std::pair<Nanos, std::uint32_t>, Event> expected;  // by time and order
    std::uint32_t wanted = 0, asked = 0, came = 0, cancelled = 0;
};

}  // namespace

int main(int, char** words) {
    Probe probe(static_cast<unsigned>(std::atol(words[1])));
    probe.wanted = static_cast<std::uint32_t>(std::atol(words[2]));
    while (probe.asked < probe.wanted) {
        for (int i = 0; i < 150; ++i) probe.ask();
        if (probe.random() % 2 == 0)  // all of them but a few, so that there is more cancelled than not
            while (probe.expected.size() > 5) probe.cancel();
        while (!probe.expected.empty()) {
            if (probe.engine.pending() != probe.expected.size())
                return std::puts("another number of them"), 1;
            probe.engine.run(probe.engine.now() +
                             static_cast<Nanos>(probe.random() % (probe.random() % 8 == 0 ? 9'000 : 20)));
        }
    }
    if (probe.came + probe.cancelled != probe.asked) return std::puts("some did not come"), 1;
    return std::puts("OK"), 0;
}
