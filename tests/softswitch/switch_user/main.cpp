// A program that links the embedded switch: `switch_user PROGRAM.json` sends one frame of zeros into port 1
// of two switches, and prints what comes out, a line each: switch, port, time in ns, length.
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "csaud_switch/fabric/fabric.hpp"
#include "csaud_switch/load/load_program.hpp"

int main(int, char** arguments) {
    using namespace csaud::sw;
    std::ifstream file(arguments[1]);
    Fabric fabric(1);
    const std::unique_ptr<Program> program = load_program({std::istreambuf_iterator<char>(file), {}});
    for (std::uint64_t device = 1; device <= 2; ++device) {
        Switch& added = fabric.add_switch({.name = "s" + std::to_string(device), .device_id = device}, false);
        added.install(program->copy());
        for (PortId port = 1; port <= 4; ++port)
            fabric.add_memory_port(added, port, {.rate_bps = 1'000'000'000, .delay = 500});
        fabric.inject(added, 1, std::vector<std::uint8_t>(64), 0);
    }
    fabric.advance(1'000'000);
    for (const OutFrame& frame : fabric.take_frames())
        std::printf("%s %u %" PRId64 " %zu\n", frame.from->config().name.c_str(),
                    static_cast<unsigned>(frame.port), frame.time, frame.bytes.size());
    return 0;
}
