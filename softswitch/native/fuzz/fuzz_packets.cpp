// The project's own program with any entries: no packet upsets it, and each ends somewhere.
#include <fuzzer/FuzzedDataProvider.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "csaud_switch/load/load_program.hpp"
#include "random_input.hpp"
#include "rig.hpp"

namespace {

std::unique_ptr<csaud::sw::fuzz::Rig> loaded() {
    std::ifstream file(CSAUD_PROGRAM);
    auto rig = std::make_unique<csaud::sw::fuzz::Rig>();
    rig->target().install(csaud::sw::load_program({std::istreambuf_iterator<char>(file), {}}));
    return rig;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::unique_ptr<csaud::sw::fuzz::Rig> rig = loaded();
    FuzzedDataProvider input(data, size);
    rig->clear();
    rig->fill(input);
    rig->run(input);
    return 0;
}
