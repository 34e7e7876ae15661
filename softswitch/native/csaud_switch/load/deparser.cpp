#include "csaud_switch/load/deparser.hpp"

#include <cstdint>
#include <string>

#include "csaud_switch/base/packet.hpp"

namespace csaud::sw {

void load_deparser(const Json& root, const FieldNames& fields, Logic& logic) {
    const Json& deparsers = array_member(root, "deparsers", "program");
    if (deparsers.size() != 1)
        unsupported("program", std::to_string(deparsers.size()) + " deparsers instead of one");
    if (deparsers[0].contains("primitives") && !deparsers[0]["primitives"].empty())
        unsupported("deparser", "a primitive");
    std::uint32_t bytes = 0;
    for (const Json& name : array_member(deparsers[0], "order", "deparser")) {
        logic.deparser.order.push_back(fields.header(name, "deparser"));
        const Header& last = logic.layout.headers[logic.deparser.order.back()];
        bytes += last.bytes + last.varbit_bytes;
    }
    if (bytes > kMaxHeaderBytes)
        unsupported("deparser", std::to_string(bytes) + " bytes of headers (at most " +
                                    std::to_string(kMaxHeaderBytes) + ")");
    logic.layout.header_bytes = bytes;
}

}  // namespace csaud::sw
