#include "csaud_switch/fabric/replication.hpp"

namespace csaud::sw {

const std::vector<Replica>* Replication::group(std::uint32_t id) const {
    const auto found = multicast_groups.find(id);
    return found == multicast_groups.end() || found->second.empty() ? nullptr : &found->second;
}

const CloneSession* Replication::session(const Packet& packet) const {
    const auto found = clone_sessions.find(packet.clone_request - 1);
    return found == clone_sessions.end() ? nullptr : &found->second;
}

Packet* Replication::clone_arrived(const Packet& original, std::uint32_t frame_start, Interpreter& program,
                                   PacketPool& pool) {
    Packet* clone = pool.copy(original);
    clone->length += clone->start - frame_start;
    clone->start = frame_start;
    clone->reset(original.ingress_port);
    clone->ingress_length = original.ingress_length;
    clone->passes = original.passes;
    program.begin(*clone);
    // The parser may look at it.
    set_field(*clone, program.logic().target.ingress_port, original.ingress_port);
    program.parse(*clone);
    return clone;
}

void Replication::preserve(const Packet& original, Packet& clone, const Logic& logic) {
    for (std::size_t i = 0; i < logic.headers.size(); ++i) {
        if (!logic.layout.headers[i].metadata) continue;
        const HeaderCode& header = logic.headers[i];
        for (std::uint32_t slot = 0; slot < header.slot_count; ++slot)
            clone.slots[header.first_slot + slot] = 0;
    }
    for (const FieldRef& field : logic.field_lists[original.clone_fields].fields)
        for (std::uint32_t word = 0; word < words_for(field.width); ++word)
            clone.slots[field.slot + word] = original.slots[field.slot + word];
}

}  // namespace csaud::sw
