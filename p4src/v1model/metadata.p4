// What the controls tell each other about one packet.
#ifndef CSAUD_METADATA_P4
#define CSAUD_METADATA_P4

struct metadata_t {
    bit<2> kind;
    bit<7> port;          // low bits of the chosen egress port, index of per-port arrays
    bit<32> route_key;    // destination that is routed: IPv4 destination, or the target of an ARP
    bit<32> src_key;      // its source, likewise; 0 elsewhere
    bit<8> protocol;
    bit<16> group;        // path group of the destination
    bit<16> index;        // what the spray mode computed; the action selector takes it modulo the live members
    bit<1> forwarded;     // a live path was found
    bit<16> l4_src;
    bit<16> l4_dst;
    bit<4> asked;         // copies of CSA fields, 0 where the packet is not CSA
    bit<3> cls;
    bit<16> comm;
    bit<16> path_id;
    bit<1> lost;          // fault injection took this packet
    bit<1> signalled;     // ... and the loss is told like one by congestion
    bit<16> trim_at;      // limits of the egress port, in packets of its occupancy shadow
    bit<16> drop_at;
    bit<16> limit;        // the limit that holds for this packet
    bit<1> admitted;
    bit<1> counted;       // this packet is in the occupancy shadow and leaves it in egress
}

#endif
