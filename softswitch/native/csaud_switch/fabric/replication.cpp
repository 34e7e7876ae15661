// Multicast and clones.
#include "csaud_switch/fabric/switch.hpp"

namespace csaud::sw {

namespace {

constexpr std::uint32_t kIngressClone = 1;
constexpr std::uint32_t kEgressClone = 2;

}  // namespace

void Switch::replicate(Packet* packet, const std::vector<Replica>& replicas, std::uint32_t instance_type,
                       Nanos now) {
    for (const Replica& replica : replicas) {
        Packet* copy = wire_.pool().copy(*packet);
        Interpreter::set(*copy, program_->target.egress_rid, replica.rid);
        Interpreter::set(*copy, program_->target.instance_type, instance_type);
        enqueue(copy, replica.port, now);
    }
}

void Switch::reset_metadata(Packet& packet) const {
    for (std::size_t i = 0; i < program_->headers.size(); ++i) {
        if (!program_->layout.headers[i].metadata) continue;
        const HeaderCode& header = program_->headers[i];
        for (std::uint32_t slot = 0; slot < header.slot_count; ++slot)
            packet.slots[header.first_slot + slot] = 0;
    }
}

void Switch::send_clone(Packet* clone, std::uint32_t session, const Packet& original, std::uint32_t fields,
                        std::uint32_t instance_type, Nanos now) {
    reset_metadata(*clone);
    for (const FieldRef& field : program_->field_lists[fields].fields)
        for (std::uint32_t word = 0; word < words_for(field.width); ++word)
            clone->slots[field.slot + word] = original.slots[field.slot + word];
    const std::vector<Replica>& replicas = clone_sessions.at(session);
    figures_.copies += replicas.size();
    replicate(clone, replicas, instance_type, now);
    wire_.pool().give(clone);
}

// The packet as it arrived, parsed again.
void Switch::clone_ingress(const Packet& original, std::uint32_t frame_start, Nanos now) {
    const std::uint32_t session = original.clone_request - 1;
    if (!clone_sessions.contains(session)) return;
    Packet* clone = wire_.pool().copy(original);
    clone->length += clone->start - frame_start;
    clone->start = frame_start;
    clone->reset(original.ingress_port);
    interpreter_->begin(*clone);
    interpreter_->parse(*clone);
    send_clone(clone, session, original, original.clone_fields, kIngressClone, now);
}

// The packet as egress left it.
void Switch::clone_egress(const Packet& original, Nanos now) {
    const std::uint32_t session = original.clone_request - 1;
    if (!clone_sessions.contains(session)) return;
    Packet* clone = wire_.pool().copy(original);
    send_clone(clone, session, original, original.clone_fields, kEgressClone, now);
}

}  // namespace csaud::sw
