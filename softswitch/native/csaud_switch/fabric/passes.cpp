#include "csaud_switch/fabric/passes.hpp"

#include "csaud_switch/fabric/standard_metadata.hpp"

namespace csaud::sw {

bool Passes::resubmit(Packet* packet, std::uint32_t frame_start, const Interpreter& program) {
    packet->length += packet->start - frame_start;
    packet->start = frame_start;
    return restart(packet, packet->resubmit - 1, kResubmitted, packet->ingress_length, program);
}

bool Passes::recirculate(Packet* packet, const Interpreter& program) {
    return restart(packet, packet->recirculate - 1, kRecirculated, packet->length, program);
}

bool Passes::restart(Packet* packet, std::uint32_t fields, std::uint32_t instance_type,
                     std::uint32_t ingress_length, const Interpreter& program) {
    const std::uint32_t passes = packet->passes + 1;
    if (passes >= kLimit || waiting_.count >= kMaxWaiting) return false;
    const Logic& logic = program.logic();
    const std::vector<FieldRef>& list = logic.field_lists[fields].fields;
    preserved_.clear();
    for (const FieldRef& field : list)
        for (std::uint32_t word = 0; word < words_for(field.width); ++word)
            preserved_.push_back(packet->slots[field.slot + word]);
    packet->reset(packet->ingress_port);
    packet->passes = passes;
    packet->ingress_length = ingress_length;
    program.begin(*packet);
    std::size_t at = 0;
    for (const FieldRef& field : list)
        for (std::uint32_t word = 0; word < words_for(field.width); ++word)
            packet->slots[field.slot + word] = preserved_[at++];
    set_field(*packet, logic.target.instance_type, instance_type);
    set_field(*packet, logic.target.packet_length, packet->length);
    waiting_.push(packet);
    return true;
}

}  // namespace csaud::sw
