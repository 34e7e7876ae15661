// Headers on the wire, and how the CPU port sees a packet.
#ifndef CSAUD_HEADERS_P4
#define CSAUD_HEADERS_P4

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> pad;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> pad;
}

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

header arp_t {   // RFC 826 for IPv4 over Ethernet
    bit<16> hardware_type;
    bit<16> protocol_type;
    bit<8> hardware_length;
    bit<8> protocol_length;
    bit<16> operation;
    bit<48> sender_mac;
    bit<32> sender_ip;
    bit<48> target_mac;
    bit<32> target_ip;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<6> dscp;
    bit<2> ecn;
    bit<16> total_length;
    bit<16> identification;
    bit<3> flags;
    bit<13> fragment_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header ipv6_t {
    bit<4> version;
    bit<6> dscp;
    bit<2> ecn;
    bit<20> flow_label;
    bit<16> payload_length;
    bit<8> next_header;
    bit<8> hop_limit;
    bit<128> src;
    bit<128> dst;
}

header neighbours_t {   // RFC 4861: a solicitation or an advertisement
    bit<8> type;
    bit<8> code;
    bit<16> checksum;
    bit<32> flags;
    bit<128> target;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

header tcp_ports_t {   // the rest of TCP is payload to this fabric
    bit<16> src_port;
    bit<16> dst_port;
}

header bth_t {   // InfiniBand base transport header
    bit<8> opcode;
    bit<1> solicited;
    bit<1> migrated;
    bit<2> pad_count;
    bit<4> version;
    bit<16> pkey;
    bit<8> resv8a;
    bit<24> dst_qp;
    bit<8> ack_req;
    bit<24> psn;
}

header deth_t {   // InfiniBand datagram extended transport header
    bit<32> qkey;
    bit<8> reserved;
    bit<24> src_qp;
}

header csa_t {
    bit<16> magic_version;
    bit<8> type;
    bit<8> flags;
    bit<4> spray;
    bit<3> cls;
    bit<1> ordered;
    bit<8> attempt;
    bit<16> epoch;
    bit<16> comm;
    bit<16> step;
    bit<32> coll_seq;
    bit<16> src_rank;
    bit<16> chunk;
    bit<16> pkt_idx;
    bit<16> pkt_total;
    bit<16> path_id;
    bit<16> path_seq;
    bit<32> tx_ts;
}

header icrc_t {   // InfiniBand's invariant CRC, least significant byte first
    bit<32> value;
}

struct headers_t {
    packet_out_t packet_out;
    packet_in_t packet_in;
    ethernet_t ethernet;
    arp_t arp;
    ipv4_t ipv4;
    ipv6_t ipv6;
    neighbours_t neighbours;
    tcp_ports_t tcp;
    udp_t udp;
    bth_t bth;
    deth_t deth;
    csa_t csa;
    icrc_t icrc;   // only where a switch made it: that of the hosts is payload here
}

#endif
