// Multicast groups and clone sessions, as the control plane sets them, and the copies that they ask for.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "csaud_switch/base/packet.hpp"
#include "csaud_switch/program/interpreter.hpp"
#include "csaud_switch/program/packet_fields.hpp"

namespace csaud::sw {

// One copy of a clone session or multicast group.
struct Replica {
    PortId port = 0;
    std::uint32_t rid = 0;
};

struct CloneSession {
    std::vector<Replica> replicas;
    std::uint32_t truncate = 0;  // bytes of each copy, 0: all of them
};

class Replication {
  public:
    std::map<std::uint32_t, CloneSession> clone_sessions;
    std::map<std::uint32_t, std::vector<Replica>> multicast_groups;

    // nullptr where the group has no replicas, or is none.
    const std::vector<Replica>* group(std::uint32_t id) const;
    // That a packet is to be cloned into; nullptr where there is none.
    const CloneSession* session(const Packet& packet) const;

    // What an ingress sends as a clone: the packet as it arrived, parsed again.
    static Packet* clone_arrived(const Packet& original, std::uint32_t frame_start, Interpreter& program,
                                 PacketPool& pool);
    // A clone's metadata are zero, but for the fields of a list.
    static void preserve(const Packet& original, Packet& clone, const Logic& logic);
    // send(copy, port), one after the other: what becomes of a copy comes before the next is made.
    template <typename Send>
    static void replicate(const Packet& packet, const std::vector<Replica>& replicas,
                          std::uint32_t instance_type, std::uint32_t truncate, const TargetFields& target,
                          PacketPool& pool, Send&& send) {
        for (const Replica& replica : replicas) {
            Packet* copy = pool.copy(packet);
            set_field(*copy, target.egress_rid, replica.rid);
            set_field(*copy, target.instance_type, instance_type);
            if (truncate > 0) copy->truncate_to = truncate;
            send(copy, replica.port);
        }
    }
};

}  // namespace csaud::sw
