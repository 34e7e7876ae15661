// What the controls tell each other about one packet, and what ingress tells egress.
#ifndef CSAUD_METADATA_P4
#define CSAUD_METADATA_P4

// The first byte of a packet in egress says how it came there.
const bit<8> TAG_BRIDGED = 0;   // from ingress
const bit<8> TAG_LOSS = 1;      // a mirrored copy, cut short: a LOSS to be
const bit<8> TAG_ALARM = 2;     // Tofino: an overflow, on its way round to ingress

const MirrorType_t MIRROR_LOSS = 1;
const MirrorType_t MIRROR_ALARM = 2;
const DigestType_t DIGEST_ALARM = 1;

header bridged_t {
    bit<8> tag;
    @padding bit<5> pad0;
    bit<1> lost;           // fault injection took this packet, and the loss is to be told
    bit<2> kind;
    bit<9> ingress_port;   // laid out like packet_in_t, into which it is copied
    bit<7> pad1;
    bit<9> egress_port;    // of a deflected packet the intrinsic metadata no longer say it
    @padding bit<7> pad2;
    bit<16> alarm_at;
}

header made_t {            // how to make the LOSS of this copy
    bit<8> tag;
    bit<1> make;           // 0: it is one already, only to be turned back
    bit<1> returned;       // it goes to the sender
    bit<1> both;           // one more goes to the sender
    bit<1> with_icrc;      // the second form: it ends with an iCRC of its own
    bit<1> pad0;
    bit<3> priority;
    bit<6> dscp;
    bit<2> pad1;
    bit<9> back_port;      // where the packet came in
    bit<7> pad2;
    bit<16> kept;          // bytes of the frame that it keeps at most
}

header overflow_alarm_h {
    bit<8> tag;
    bit<8> kind;
    bit<16> port;
    bit<16> depth;
    bit<16> path_id;
}

struct overflow_alarm_t {
    bit<16> port;
    bit<16> depth;         // of the port's queue, in cells of the traffic manager
    bit<16> path_id;
    bit<8> kind;
    bit<32> at;            // the switch's clock, units of 256 ns
}

// What the loss signal needs to know, on whichever side of the queue it is asked, and what it says.
struct loss_t {
    bit<2> kind;
    bit<9> port;           // where there is no room
    bit<9> out_port;       // where the LOSS goes
    bit<1> told;           // a LOSS is made of this packet
    bit<1> to_receiver;
    bit<1> to_sender;
    bit<9> by_kind;        // index of counters: port and kind
    bit<11> by_path;       // port and path bucket
}

struct flow_t {            // what the parser found out
    bit<32> route_key;     // destination that is routed: IPv4 destination, or the target of an ARP
    bit<32> src_key;       // its source, likewise; 0 elsewhere
    bit<8> protocol;
    bit<16> l4_src;
    bit<16> l4_dst;
    bit<1> plain_ipv4;     // IPv4 without options, whose checksum this program can make
    bool bad_checksum;
}

struct metadata_t {        // ingress
    bridged_t bridged;
    made_t made;
    overflow_alarm_h alarm;
    flow_t flow;
    loss_t loss;
    MirrorId_t session;
    bit<2> kind;
    bit<16> short_of_loss; // bytes that its UDP length is too short by
    bit<16> short_of_csa;
    bit<1> punted;         // it is for the controller
    bit<1> from_host;      // it came in by a port whose packets are checked
    bit<1> foreign;        // its source address does not belong there
    bit<1> class_refused;
    bit<1> refused;        // the edge does not let it in, for `refusal`
    bit<2> refusal;        // low bits of the index of the counter `refused`
    bit<1> discard;        // no way for it, for `reason`
    bit<3> reason;         // index of the counter `discarded`
    bit<16> group;         // path group of the destination
    bit<16> index;         // what the spray mode computed; the action selector takes it modulo the live members
    bit<32> mixed;
    bit<32> hash_a;
    bit<32> hash_b;
    bit<32> path_hash_a;
    bit<32> path_hash_b;
    bit<1> hashed;
    bit<1> weighted;
    bit<1> flowlet;
    bit<6> bucket;
    bit<32> now;           // units of 256 ns
    bit<32> expiry;
    bit<16> source;        // the layer-4 source port, where it is the flow's
    bit<12> slot;
    bit<1> fresh;
    bit<16> second_index;  // least queue: the other candidate
    bit<1> two_choices;
    bit<9> second_port;
    bit<11> queue;         // Tofino 2: the port's queue of DATA, as the traffic manager numbers it
    bit<11> second_queue;
    bit<16> depth;         // Tofino 2: of that queue, in cells
    bit<16> second_depth;
    bit<4> own_queue;      // Tofino 2: which of the port's queues this packet joins, if that is not LOSS's or control's
    bit<1> second_found;   // `alternative` has a second choice
    bit<1> forwarded;      // a live path was found
    bit<4> asked;          // copies of CSA fields, 0 where the packet is not CSA
    bit<3> cls;
    bit<16> comm;
    bit<16> path_id;
    bit<32> drawn;
    bit<32> below;
    bit<1> signalled;
    bit<1> silent;         // fault injection took it, and nobody is told
    bit<1> no_room;        // Tofino 2: there will be none for it in the queue
    bit<16> trim_room;     // Tofino 2: cells that the port's queue is below each limit
    bit<16> no_trim_room;
    bit<16> other_room;
    bit<16> drop_room;
    bit<16> room;          // ... and below the packet's own
    bit<16> calm;
    bit<32> interval;
    bit<32> due;
    bit<1> alarm_wanted;
    bit<1> alarm_due;
}

struct egress_metadata_t {
    bridged_t bridged;
    made_t made;
    overflow_alarm_h alarm;
    flow_t flow;
    loss_t loss;
    bit<2> kind;
    bit<16> path_id;
    bit<9> by_kind;
    bit<11> by_path;
    MirrorId_t session;
    bit<16> depth;         // of the queue when the packet joined it, in cells
    bit<16> low;
    bit<16> span;
    bit<16> drawn;
    bit<16> mark_at;
    bit<16> below;
    bit<16> alarm_at;
    bit<16> calm;
    bit<32> now;
    bit<32> interval;
    bit<32> due;
    bit<1> alarm_wanted;
    bit<1> alarm_due;
    bit<16> kept;
    bit<32> crc_a;
    bit<32> crc_b;
}

#endif
