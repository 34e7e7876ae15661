#include "csaud_switch/program/checksum_ops.hpp"

#include "csaud_switch/program/packet_fields.hpp"

namespace csaud::sw {

bool ChecksumOps::verify(const Packet& packet) const {
    bool good = true;
    for (const std::uint32_t index : logic_.verified) {
        const Checksum& checksum = logic_.checksums[index];
        if (!checksum.target_metadata && packet.slots[checksum.target_valid_slot] == 0) continue;
        if (!holds(checksum, packet)) continue;
        good &=
            logic_.calculations[checksum.calculation].compute(packet) == packet.slots[checksum.target.slot];
    }
    return good;
}

void ChecksumOps::update(Packet& packet) const {
    for (const std::uint32_t index : logic_.deparser.checksums) {
        const Checksum& checksum = logic_.checksums[index];
        if (!holds(checksum, packet)) continue;
        const std::uint64_t value = logic_.calculations[checksum.calculation].compute(packet);
        assign(checksum.target, mask64(checksum.target.width), value, packet);
    }
}

bool ChecksumOps::holds(const Checksum& checksum, const Packet& packet) {
    return !checksum.conditional || checksum.condition.eval(frame_of(packet)) != 0;
}

}  // namespace csaud::sw
