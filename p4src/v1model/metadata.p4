// What the controls tell each other about one packet.
#ifndef CSAUD_METADATA_P4
#define CSAUD_METADATA_P4

// What a clone keeps of its packet, and what is recirculated: how to make the LOSS.
#define KEPT_BY_CLONES 1

struct metadata_t {
    @field_list(KEPT_BY_CLONES)
    bit<48> now;          // when the packet came, microseconds: it, or that of which a LOSS that comes round was made
    bit<2> kind;
    bit<7> port;          // low bits of the chosen egress port, index of per-port arrays
    bit<1> refused;       // the edge does not let it in, for `refusal`
    bit<2> refusal;       // low bits of the index of the counter `refused`
    bit<32> route_key;    // destination that is routed: IPv4 destination, or the target of an ARP
    bit<32> src_key;      // its source, likewise; 0 elsewhere
    bit<128> route_key6;  // the same over IPv6: destination, or the target of a neighbour solicitation
    bit<128> src_key6;
    bit<1> on_link;       // its IPv6 source is link-local, or none: no router forwards it (RFC 4291, 2.5.6)
    @field_list(KEPT_BY_CLONES)
    bit<16> udp_at;       // where its UDP header begins in the frame, if it has one
    bit<6> dscp;          // of IPv4 or IPv6, like the next
    bit<2> ecn;
    bit<8> protocol;
    bit<1> no_route;
    bit<16> group;        // path group of the destination
    bit<16> index;        // what the spray mode computed; the action selector takes it modulo the live members
    bit<6> bucket;        // weighted: which of the group's buckets this turn is
    bit<1> weighted;
    bit<16> second_index; // least queue: the other candidate
    bit<1> two_choices;
    bit<9> first_port;    // least queue: the port of the first candidate
    bit<1> forwarded;     // a live path was found
    bit<16> l4_src;
    bit<16> l4_dst;
    bit<4> asked;         // copies of CSA fields, 0 where the packet is not CSA
    bit<3> cls;
    bit<16> comm;
    bit<16> path_id;
    bit<1> no_trim;       // DATA whose sender asked not to cut it
    bit<1> lost;          // fault injection took this packet
    bit<1> signalled;     // ... and the loss is told like one by congestion
    bit<16> trim_at;      // limits of the egress port, in packets of its occupancy shadow
    bit<16> no_trim_at;
    bit<16> drop_at;
    bit<16> alarm_at;
    bit<16> limit;        // the limit that holds for this packet
    bit<16> other_at;
    bit<32> loss_byte_time;   // of that port's share for LOSS
    bit<1> in_share;      // a LOSS that has not used up that share
    bit<8> shadow;        // which shadow counts this packet
    bit<16> depth;        // that shadow when this packet came
    bit<16> waiting;      // both shadows of the port
    bit<1> admitted;
    bit<1> counted;       // this packet is in the occupancy shadow and leaves it in egress
    bit<48> alarm_interval;
    bit<1> alarm_wanted;
    bit<1> told;          // a LOSS was made of this packet
    bit<1> returned;      // ... and goes back to the sender
    @field_list(KEPT_BY_CLONES)
    bit<16> kept;         // bytes of the frame that a LOSS keeps, its iCRC included
    @field_list(KEPT_BY_CLONES)
    bit<6> loss_dscp;
    @field_list(KEPT_BY_CLONES)
    bit<3> loss_priority;
    @field_list(KEPT_BY_CLONES)
    bit<1> with_icrc;     // the second form: the LOSS ends with an iCRC of its own
}

#endif
