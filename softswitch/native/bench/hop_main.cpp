// How many packets a second one switch forwards in process, on one core: the program's JSON in, packets a
// second out.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "csaud_switch/control/control.hpp"
#include "csaud_switch/fabric/fabric.hpp"
#include "csaud_switch/program/hash.hpp"

using namespace csaud::sw;

namespace {

constexpr PortId kPaths = 4;
constexpr PortId kHost = 5;

// A DATA packet of CSA-UD; see the protocol's wire format.
Bytes data_packet(std::uint16_t path, std::size_t payload) {
    Bytes frame(14 + 20 + 8 + 12 + 8 + 32 + payload + 4);
    const auto put16 = [&](std::size_t at, unsigned value) {
        frame[at] = static_cast<std::uint8_t>(value >> 8);
        frame[at + 1] = static_cast<std::uint8_t>(value);
    };
    put16(12, 0x0800);
    frame[14] = 0x45;
    put16(16, static_cast<unsigned>(frame.size() - 14));
    frame[22] = 64;
    frame[23] = 17;
    const Bytes source{10, 0, 1, 1};
    const Bytes destination{10, 0, 2, 1};
    std::memcpy(&frame[26], source.data(), 4);
    std::memcpy(&frame[30], destination.data(), 4);
    put16(24, static_cast<unsigned>(hash_bytes(HashAlgorithm::kCsum16, &frame[14], 20)));
    put16(36, 4791);
    put16(38, static_cast<unsigned>(frame.size() - 34));
    frame[42] = 0x64;
    frame[49] = 0x11;
    put16(62, 0xC5A1);
    put16(86, path);
    return frame;
}

void configure(Switch& target, const std::string& spray) {
    Control control(target);
    const std::string profile = "CsaudIngress.spray.path_selector";
    GroupSpec group{1, {}, 0};
    for (PortId port = 1; port <= kPaths; ++port) {
        ActionSpec forward;
        forward.name = "CsaudIngress.spray.forward";
        forward.parameters = {{static_cast<std::uint8_t>(port)}};
        control.member_insert(profile, port, forward);
        group.members.push_back({port, 1, port});
    }
    control.group_insert(profile, group);
    MatchField destination{MatchField::Kind::kLpm, {10, 0, 2, 0}, {}, 24};
    EntrySpec route{{destination}, 0, {}};
    route.action.name = "CsaudIngress.route.set_group";
    route.action.parameters = {{1}};
    control.table_insert("CsaudIngress.route.ipv4_lpm", route);
    EntrySpec paths{{MatchField{MatchField::Kind::kExact, {1}, {}, 0}}, 0, {}};
    paths.action.kind = Binding::Kind::kGroup;
    paths.action.id = 1;
    control.table_insert("CsaudIngress.spray.paths", paths);
    EntrySpec policy{std::vector<MatchField>(5), 10, {}};
    policy.action.name = "CsaudIngress.spray." + spray;
    if (spray == "ecmp" || spray == "entropy" || spray == "random") policy.action.parameters = {{7}};
    control.table_insert("CsaudIngress.spray.policy", policy);
}

double measure(const std::string& json, const std::string& spray, std::size_t payload, int packets) {
    Fabric fabric(1);
    Switch& target = fabric.add_switch({"s", 1}, false);
    target.load(json);
    for (PortId port = 1; port <= kHost; ++port) fabric.add_memory_port(target, port, {});
    configure(target, spray);
    std::vector<Bytes> frames;
    for (std::uint16_t path = 0; path < 64; ++path) frames.push_back(data_packet(path, payload));
    const std::clock_t begin = std::clock();  // of this process's processor time
    for (int i = 0; i < packets; ++i) {
        fabric.inject(target, kHost, frames[static_cast<std::size_t>(i) % frames.size()], i);
        if (i % 64 == 63) fabric.take_frames();
    }
    const double took = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    if (target.figures().tx != static_cast<std::uint64_t>(packets)) {
        std::fprintf(stderr, "only %llu of %d packets were forwarded\n",
                     static_cast<unsigned long long>(target.figures().tx), packets);
        std::exit(1);
    }
    return packets / took;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: %s csaud.json [packets]\n", argv[0]);
        return 2;
    }
    std::ifstream file(argv[1]);
    const std::string json{std::istreambuf_iterator<char>(file), {}};
    const int packets = argc > 2 ? std::atoi(argv[2]) : 500'000;
    for (const char* spray : {"host_directed", "ecmp", "random", "round_robin"})
        for (const std::size_t payload : {std::size_t{0}, std::size_t{4064}})
            std::printf("%-14s %5zu bytes payload  %9.0f packets/s\n", spray, payload,
                        measure(json, spray, payload, packets));
    return 0;
}
