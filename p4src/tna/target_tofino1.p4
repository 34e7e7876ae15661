// What is a matter of the chip: Tofino.
#ifndef CSAUD_TARGET_P4
#define CSAUD_TARGET_P4

const PortId_t CPU_PORT = 192;            // PCIe, as the switch's driver numbers it
const PortId_t RECIRCULATION_PORT = 68;   // alarms go round by it: only ingress can send a digest

// Sessions of the mirror. 512 + port: to that port's queue of LOSS, cut to the bytes that a LOSS keeps. The controller
// installs them.
const bit<1> LOSS_SESSIONS = 1;           // the highest of a session's ten bits; the port is the others
const MirrorId_t ALARM_SESSION = 1000;    // to RECIRCULATION_PORT, cut to the alarm

// The copy that a LOSS is made of went through ingress: its TTL is counted down already.
const bit<8> HOPS_OF_MADE_LOSS = 0;

// Queue of traffic that is not CSA, where no DSCP says otherwise: its own, so that neither takes the room of the other.
// The traffic manager shares the link out between it and the queue of DATA, by their weights.
const bit<3> QUEUE_OF_OTHERS = 1;

// A group of paths fits one word of the selector.
#define PATHS_PER_GROUP 120

#define ROOM_FOR_BUCKETS BUCKETS

#endif
