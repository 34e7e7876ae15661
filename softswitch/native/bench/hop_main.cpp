// How many packets a second switches forward in process, on one core, and how long one packet takes: the
// program's JSON in, a line of JSON out.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "csaud_switch/fabric/fabric.hpp"
#include "csaud_switch/load/load_program.hpp"
#include "setup.hpp"

using namespace csaud::sw;

namespace {

struct Options {
    std::string program;
    bench::Fill fill;
    std::size_t packets = 500'000;
    std::size_t bytes = 1100;
    std::size_t hops = 4;
    std::size_t different = 16384;  // packets
    std::size_t samples = 2000;     // of single packets' times
    std::uint64_t seed = 1;
};

[[noreturn]] void fail(const std::string& message) {
    std::fprintf(stderr, "csaud_switch_hop: %s\n", message.c_str());
    std::exit(2);
}

Options parse(int argc, char** argv) {
    Options options;
    if (argc < 2)
        fail(
            "expected PROGRAM.json [--packets N] [--bytes N] [--hops N] [--spray MODE] [--routes N] "
            "[--policies N] [--masks N] [--buckets N] [--different N] [--samples N] [--seed N]");
    options.program = argv[1];
    for (int i = 2; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        if (name == "--spray") {
            options.fill.spray = argv[i + 1];
            continue;
        }
        char* end = nullptr;
        const auto value = static_cast<std::size_t>(std::strtoull(argv[i + 1], &end, 10));
        if (*end != '\0' || *argv[i + 1] == '\0') fail(name + ": expected a number, got " + argv[i + 1]);
        const auto small = static_cast<std::uint32_t>(value);
        if (name == "--packets")
            options.packets = std::max<std::size_t>(value, 1);
        else if (name == "--bytes")
            options.bytes = value;
        else if (name == "--hops")
            options.hops = std::max<std::size_t>(value, 1);
        else if (name == "--routes")
            options.fill.routes = std::max(small, 1U);
        else if (name == "--policies")
            options.fill.policies = std::max(small, 1U);
        else if (name == "--masks")
            options.fill.masks = std::max(small, 1U);
        else if (name == "--buckets")
            options.fill.buckets = small;
        else if (name == "--different")
            options.different = std::max<std::size_t>(value, 1);
        else if (name == "--samples")
            options.samples = value;
        else if (name == "--seed")
            options.seed = value;
        else
            fail("unknown option " + name);
    }
    return options;
}

double now(clockid_t clock) {
    timespec t{};
    ::clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Switches in a row: path ports of one lead to the host port of the next one, as between the tiers of a
// fabric.
struct Row {
    Fabric fabric{1};
    std::vector<Switch*> switches;

    Row(const Options& options, const std::string& json) {
        const std::unique_ptr<Program> program = load_program(json);
        for (std::size_t i = 0; i < options.hops; ++i) {
            Switch& added = fabric.add_switch({"s" + std::to_string(i), i + 1}, false);
            added.install(program->copy());
            switches.push_back(&added);
        }
        for (std::size_t i = 0; i < options.hops; ++i) {
            if (i == 0) fabric.add_memory_port(*switches[0], bench::kHost, {});
            for (PortId port = 1; port <= bench::kPaths; ++port) {
                if (i + 1 < options.hops) {
                    fabric.add_link(*switches[i], port, *switches[i + 1], bench::kHost + port, {});
                } else {
                    fabric.add_memory_port(*switches[i], port, {});
                }
            }
            bench::configure(*switches[i], options.fill, options.seed);
        }
    }

    void send(const std::vector<std::uint8_t>& frame, Nanos at) {
        fabric.inject(*switches[0], bench::kHost, frame, at);
    }

    void check(std::size_t packets) const {
        for (const Switch* each : switches)
            if (each->figures().tx != packets)
                fail("switch " + each->config().name + " forwarded " + std::to_string(each->figures().tx) +
                     " of " + std::to_string(packets) + " packets");
    }
};

// Sends packets, the first at time `from`; seconds of processor time that it took.
double throughput(Row& row, const std::vector<std::vector<std::uint8_t>>& frames, std::size_t from,
                  std::size_t packets) {
    const double begin = now(CLOCK_PROCESS_CPUTIME_ID);
    for (std::size_t i = 0; i < packets; ++i) {
        row.send(frames[i % frames.size()], static_cast<Nanos>(from + i));
        if (i % 64 == 63) row.fabric.take_frames();
    }
    row.fabric.take_frames();
    return now(CLOCK_PROCESS_CPUTIME_ID) - begin;
}

// Median time of one packet through all switches, in seconds, with a pause before each.
double latency(Row& row, const std::vector<std::vector<std::uint8_t>>& frames, std::size_t samples,
               Nanos from) {
    constexpr double kPause = 50e-6;
    std::vector<double> took;
    for (std::size_t i = 0; i < samples; ++i) {
        const double pause_end = now(CLOCK_MONOTONIC) + kPause;
        while (now(CLOCK_MONOTONIC) < pause_end) continue;
        const double begin = now(CLOCK_MONOTONIC);
        row.send(frames[i % frames.size()], from + static_cast<Nanos>(i));
        took.push_back(now(CLOCK_MONOTONIC) - begin);
        row.fabric.take_frames();
    }
    std::nth_element(took.begin(), took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2), took.end());
    return took[took.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = parse(argc, argv);
    std::ifstream file(options.program);
    if (!file) fail("cannot read " + options.program);
    const std::string json{std::istreambuf_iterator<char>(file), {}};
    try {
        Row row(options, bench::with_sizes(json, options.fill));
        const auto frames = bench::packets(options.fill, options.different, options.bytes, options.seed);
        const std::size_t warm = std::min(options.packets / 10, frames.size());
        throughput(row, frames, 0, warm);
        const double seconds = throughput(row, frames, warm, options.packets);
        const std::size_t all = warm + options.packets;
        row.check(all);
        const double median =
            options.samples == 0 ? 0 : latency(row, frames, options.samples, static_cast<Nanos>(all));
        const auto hops = static_cast<double>(options.hops);
        std::printf(
            "{\"packets\": %zu, \"hops\": %zu, \"bytes\": %zu, \"hops_per_second\": %.0f, "
            "\"median_hop_ns\": %.0f}\n",
            options.packets, options.hops, options.bytes,
            hops * static_cast<double>(options.packets) / seconds, 1e9 * median / hops);
    } catch (const std::exception& error) {
        fail(error.what());
    }
    return 0;
}
