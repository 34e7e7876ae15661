// Multicast and clones.
#include "csaud_switch/fabric/switch.hpp"
#include "csaud_switch/program/packet_fields.hpp"

namespace csaud::sw {

namespace {

constexpr std::uint32_t kIngressClone = 1;
constexpr std::uint32_t kEgressClone = 2;

}  // namespace

void Switch::replicate(Packet* packet, const std::vector<Replica>& replicas, std::uint32_t instance_type,
                       std::uint32_t truncate, Nanos now) {
    for (const Replica& replica : replicas) {
        Packet* copy = wire_->pool().copy(*packet);
        set_field(*copy, program_->logic->target.egress_rid, replica.rid);
        set_field(*copy, program_->logic->target.instance_type, instance_type);
        if (truncate > 0) copy->truncate_to = truncate;
        enqueue(copy, replica.port, now);
    }
}

void Switch::reset_metadata(Packet& packet) const {
    for (std::size_t i = 0; i < program_->logic->headers.size(); ++i) {
        if (!program_->logic->layout.headers[i].metadata) continue;
        const HeaderCode& header = program_->logic->headers[i];
        for (std::uint32_t slot = 0; slot < header.slot_count; ++slot)
            packet.slots[header.first_slot + slot] = 0;
    }
}

void Switch::send_clone(Packet* clone, const CloneSession& session, const Packet& original,
                        std::uint32_t instance_type, Nanos now) {
    reset_metadata(*clone);
    for (const FieldRef& field : program_->logic->field_lists[original.clone_fields].fields)
        for (std::uint32_t word = 0; word < words_for(field.width); ++word)
            clone->slots[field.slot + word] = original.slots[field.slot + word];
    figures_.copies += session.replicas.size();
    replicate(clone, session.replicas, instance_type, session.truncate, now);
    wire_->pool().give(clone);
}

// The packet as it arrived, parsed again.
void Switch::clone_ingress(const Packet& original, std::uint32_t frame_start, Nanos now) {
    const auto session = clone_sessions.find(original.clone_request - 1);
    if (session == clone_sessions.end()) return;
    Packet* clone = wire_->pool().copy(original);
    clone->length += clone->start - frame_start;
    clone->start = frame_start;
    clone->reset(original.ingress_port);
    clone->ingress_length = original.ingress_length;
    clone->passes = original.passes;
    interpreter_->begin(*clone);
    // The parser may look at it.
    set_field(*clone, program_->logic->target.ingress_port, original.ingress_port);
    interpreter_->parse(*clone);
    send_clone(clone, session->second, original, kIngressClone, now);
}

// The packet as egress left it.
void Switch::clone_egress(const Packet& original, Nanos now) {
    const auto session = clone_sessions.find(original.clone_request - 1);
    if (session == clone_sessions.end()) return;
    Packet* clone = wire_->pool().copy(original);
    if (++clone->passes >= kMaxPasses) {
        // Each clone is cloned again, for ever.
        ++figures_.copies;
        stop(clone, figures_.looped);
        return;
    }
    send_clone(clone, session->second, original, kEgressClone, now);
}

}  // namespace csaud::sw
