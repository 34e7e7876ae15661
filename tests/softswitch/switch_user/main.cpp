// A program that links the embedded switch: `switch_user PROGRAM.json` sends one frame of zeros into port 1
// and prints what comes out, a line each: port, time in ns, length.
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "csaud_switch/fabric/fabric.hpp"
#include "csaud_switch/load/load_program.hpp"

int main(int, char** arguments) {
    using namespace csaud::sw;
    std::ifstream file(arguments[1]);
    Fabric fabric(1);
    Switch& one = fabric.add_switch({.name = "one", .device_id = 1}, false);
    one.install(load_program({std::istreambuf_iterator<char>(file), {}}));
    for (PortId port = 1; port <= 4; ++port)
        fabric.add_memory_port(one, port, {.rate_bps = 1'000'000'000, .delay = 500});
    fabric.inject(one, 1, std::vector<std::uint8_t>(64), 0);
    fabric.advance(1'000'000);
    for (const OutFrame& frame : fabric.take_frames())
        std::printf("%u %" PRId64 " %zu\n", static_cast<unsigned>(frame.port), frame.time,
                    frame.bytes.size());
    return 0;
}
