// v1model's standard metadata: what a switch tells a program about a packet on its way.
#pragma once

#include <cstdint>

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/model/layout.hpp"
#include "csaud_switch/program/packet_fields.hpp"

namespace csaud::sw {

// instance_type
inline constexpr std::uint32_t kNormal = 0;
inline constexpr std::uint32_t kIngressClone = 1;
inline constexpr std::uint32_t kEgressClone = 2;
inline constexpr std::uint32_t kRecirculated = 4;
inline constexpr std::uint32_t kReplicated = 5;
inline constexpr std::uint32_t kResubmitted = 6;

inline void tell_arrival(Packet& packet, const TargetFields& target, std::uint64_t now_us) {
    set_field(packet, target.ingress_port, packet.ingress_port);
    set_field(packet, target.packet_length, packet.length);
    set_field(packet, target.ingress_timestamp, now_us);
}

// depth: of the queue that it joins.
inline void tell_queued(Packet& packet, const TargetFields& target, std::uint32_t depth) {
    if (!target.queueing) return;
    set_field(packet, target.enq_timestamp, packet.enqueued_us);
    set_field(packet, target.enq_qdepth, depth);
}

// depth: of the queue that it left. not_dropped: an egress_spec.
inline void tell_egress(Packet& packet, const TargetFields& target, std::uint32_t depth, PortId not_dropped,
                        std::uint64_t now_us) {
    set_field(packet, target.egress_timestamp, now_us);
    if (target.queueing) {
        set_field(packet, target.deq_timedelta, now_us - packet.enqueued_us);
        set_field(packet, target.deq_qdepth, depth);
        set_field(packet, target.qid, packet.priority);
    }
    set_field(packet, target.egress_port, packet.egress_port);
    set_field(packet, target.egress_spec, not_dropped);
    set_field(packet, target.packet_length, packet.program_length);
}

}  // namespace csaud::sw
