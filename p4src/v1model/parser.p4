// Down to the CSA header where the packet is one of ours, to the layer-4 ports otherwise.
parser CsaudParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    state start {
        transition select(standard_metadata.ingress_port) {
            CPU_PORT: parse_packet_out;
            default: parse_ethernet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            ETHERTYPE_ARP: parse_arp;
            default: accept;
        }
    }

    state parse_arp {
        packet.extract(hdr.arp);
        meta.route_key = hdr.arp.target_ip;
        meta.src_key = hdr.arp.sender_ip;
        transition accept;
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        meta.route_key = hdr.ipv4.dst;
        meta.src_key = hdr.ipv4.src;
        meta.protocol = hdr.ipv4.protocol;
        meta.dscp = hdr.ipv4.dscp;
        meta.ecn = hdr.ipv4.ecn;
        meta.udp_at = OFFSET_OF_UDP;
        // Behind options there are no ports where we would look for them, nor in later fragments; the first one has the
        // path of the others, and is no whole packet of ours.
        transition select(hdr.ipv4.ihl, hdr.ipv4.flags[0:0], hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (5, 0, 0, IP_PROTOCOL_TCP): parse_tcp;
            (5, 0, 0, IP_PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        meta.route_key6 = hdr.ipv6.dst;
        meta.src_key6 = hdr.ipv6.src;
        meta.protocol = hdr.ipv6.next_header;
        meta.dscp = hdr.ipv6.dscp;
        meta.ecn = hdr.ipv6.ecn;
        meta.udp_at = OFFSET_OF_UDP_IPV6;
        // Behind extension headers there are no ports where we would look for them.
        transition select(hdr.ipv6.next_header) {
            IP_PROTOCOL_TCP: parse_tcp;
            IP_PROTOCOL_UDP: parse_udp;
            IP_PROTOCOL_ICMPV6: parse_icmpv6;
            default: accept;
        }
    }

    state parse_icmpv6 {
        transition select(packet.lookahead<bit<8>>()) {
            ICMPV6_NEIGHBOUR_SOLICITATION: parse_solicitation;
            ICMPV6_NEIGHBOUR_ADVERTISEMENT: parse_advertisement;
            default: accept;
        }
    }

    state parse_solicitation {
        packet.extract(hdr.neighbours);
        meta.route_key6 = hdr.neighbours.target;
        transition accept;
    }

    state parse_advertisement {
        packet.extract(hdr.neighbours);
        transition accept;
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        meta.l4_src = hdr.tcp.src_port;
        meta.l4_dst = hdr.tcp.dst_port;
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        meta.l4_src = hdr.udp.src_port;
        meta.l4_dst = hdr.udp.dst_port;
        transition select(hdr.udp.dst_port) {
            UDP_PORT_ROCE: parse_bth;
            UDP_PORT_LOSS: parse_bth;
            default: accept;
        }
    }

    state parse_bth {
        packet.extract(hdr.bth);
        transition select(hdr.bth.opcode, hdr.bth.dst_qp) {
            (_, QP_GENERAL_SERVICES): accept;
            (BTH_OPCODE_UD_SEND_ONLY, _): parse_deth;
            default: accept;
        }
    }

    state parse_deth {
        packet.extract(hdr.deth);
        transition select(packet.lookahead<bit<16>>()) {
            CSA_MAGIC_AND_VERSION: parse_csa;
            default: accept;
        }
    }

    state parse_csa {
        packet.extract(hdr.csa);
        transition accept;
    }
}
