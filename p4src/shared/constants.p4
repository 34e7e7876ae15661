// Every number that the programs share, said once. Values of the CSA header are those of docs/protocol.md.
#ifndef CSAUD_CONSTANTS_P4
#define CSAUD_CONSTANTS_P4

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_ARP = 0x0806;
const bit<16> ETHERTYPE_IPV6 = 0x86DD;

const bit<8> IP_PROTOCOL_TCP = 6;
const bit<8> IP_PROTOCOL_UDP = 17;
const bit<8> IP_PROTOCOL_ICMPV6 = 58;

const bit<10> LINK_LOCAL = 0x3FA;   // the first bits of such an IPv6 address, fe80::/10

// Neighbour discovery (RFC 4861), which is to IPv6 what ARP is to IPv4
const bit<8> ICMPV6_NEIGHBOUR_SOLICITATION = 135;
const bit<8> ICMPV6_NEIGHBOUR_ADVERTISEMENT = 136;
const bit<8> HOP_LIMIT_OF_NEIGHBOURS = 255;   // whoever hears them takes them for forged otherwise

const bit<16> ARP_REPLY = 2;

// RoCEv2 (InfiniBand Architecture Specification, annex A17)
const bit<16> UDP_PORT_ROCE = 4791;
const bit<8> BTH_OPCODE_UD_SEND_ONLY = 0x64;
const bit<24> QP_GENERAL_SERVICES = 1;

// A trimmed packet goes to a port of its own, which an ordinary socket reads: its iCRC is gone with its payload.
const bit<16> UDP_PORT_LOSS = 49791;

const bit<16> CSA_MAGIC_AND_VERSION = 0xC5A1;
const bit<8> CSA_TYPE_DATA = 0;
const bit<8> CSA_TYPE_LOSS = 3;
const bit<8> CSA_TYPE_PARITY = 10;
const bit<2> ECN_CONGESTION_EXPERIENCED = 3;   // RFC 3168; 1 and 2 say that the sender listens

const bit<8> CSA_FLAG_NO_TRIM = 0x08;
const bit<8> CSA_FLAG_TRIMMED = 0x20;

// Lengths of a CSA packet, from the header named on. DATA, control and a LOSS of the second form have an iCRC at
// their end, a LOSS of the first form has not.
const bit<16> UDP_LENGTH_OF_LOSS = 60;   // UDP 8 + BTH 12 + DETH 8 + CSA 32
const bit<16> UDP_LENGTH_MIN_CSA = 64;   // the same with iCRC 4
const bit<16> LENGTH_OF_ICRC = 4;
const bit<16> OFFSET_OF_IP = 14;         // in the frame
const bit<16> OFFSET_OF_UDP = 34;        // ... behind IPv4
const bit<16> OFFSET_OF_UDP_IPV6 = 54;   // ... behind IPv6

// What a packet is to the fabric: index of the counters by kind. PARITY is DATA to all but the loss signal: nobody misses
// one, so it is not told of.
// KIND_OTHER is 0, what a packet is until it is known for more.
const bit<2> KIND_DATA = 1;
const bit<2> KIND_CONTROL = 2;
const bit<2> KIND_LOSS = 3;

// Priority queues, 7 served first.
const bit<3> PRIORITY_DATA = 0;
const bit<3> PRIORITY_OTHER = 0;   // where no DSCP says otherwise
const bit<3> PRIORITY_CONTROL = 6;
const bit<3> PRIORITY_LOSS = 7;

const bit<64> LOSS_BURST = 8192;   // bytes that LOSS may be ahead of its share of a link

// BMv2's standard_metadata.instance_type.
const bit<32> INSTANCE_INGRESS_CLONE = 1;
const bit<32> INSTANCE_RECIRCULATED = 4;

// Index of the counter `discarded`.
const bit<32> DISCARD_BAD_CHECKSUM = 0;
const bit<32> DISCARD_TTL_EXPIRED = 1;
const bit<32> DISCARD_NO_ROUTE = 2;
const bit<32> DISCARD_CUT_SHORT = 3;   // the frame ends inside its Ethernet, IPv4, IPv6 or ARP header
const bit<32> DISCARD_ANSWER = 4;      // a host's ARP reply to nobody's address: the controller asked whether it is there
const bit<32> DISCARD_MALFORMED = 5;   // an IPv4 header that no router forwards (RFC 1812, 5.2.2)

// Why a packet from a host's port is refused: index of the counter `refused`.
const bit<2> REFUSED_LOSS = 0;     // switches alone make them
const bit<2> REFUSED_SOURCE = 1;   // an address that does not belong to the port
const bit<2> REFUSED_CLASS = 2;    // a class that the port may not use

#endif
