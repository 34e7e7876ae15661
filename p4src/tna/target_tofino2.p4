// What is a matter of the chip: Tofino 2.
#ifndef CSAUD_TARGET_P4
#define CSAUD_TARGET_P4

const PortId_t CPU_PORT = 0;             // PCIe, as the switch's driver numbers it
const PortId_t RECIRCULATION_PORT = 6;   // unused: nothing goes round here

// The one session of the mirror: cut to the bytes that a LOSS keeps. Port and queue are the packet's own here.
const MirrorId_t LOSS_SESSION = 1;

// Ingress mirrors a packet as it came, so that its TTL is still to be counted down.
const bit<8> HOPS_OF_MADE_LOSS = 1;

// Queue of traffic that is not CSA, where no DSCP says otherwise: its own, so that neither takes the room of the other.
// The traffic manager shares the link out between it and the queue of DATA, by their weights.
const bit<3> QUEUE_OF_OTHERS = 1;

// A group of paths fits one word of the selector.
#define PATHS_PER_GROUP 120

// A quarter of the groups can be weighted: more buckets would take stages of their own.
#define ROOM_FOR_BUCKETS 16384

#endif
