// Down to the CSA header where the packet is one of ours, to the layer-4 ports otherwise; alike on both sides of the
// queue.
parser CsaudParser(packet_in packet, inout headers_t hdr, inout flow_t flow) {
    Checksum() ipv4_checksum;

    state start {
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_ARP: parse_arp;
            default: accept;
        }
    }

    state parse_arp {
        packet.extract(hdr.arp);
        flow.route_key = hdr.arp.target_ip;
        flow.src_key = hdr.arp.sender_ip;
        transition accept;
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        flow.route_key = hdr.ipv4.dst;
        flow.src_key = hdr.ipv4.src;
        flow.protocol = hdr.ipv4.protocol;
        ipv4_checksum.add(hdr.ipv4);
        flow.bad_checksum = ipv4_checksum.verify();
        // Behind options there are no ports where we would look for them, nor in later fragments; the first one has the
        // path of the others, and is no whole packet of ours.
        transition select(hdr.ipv4.ihl) {
            5: parse_plain_ipv4;
            default: accept;
        }
    }

    state parse_plain_ipv4 {
        flow.plain_ipv4 = 1;
        transition select(hdr.ipv4.flags[0:0], hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (0, 0, IP_PROTOCOL_TCP): parse_tcp;
            (0, 0, IP_PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        flow.l4_src = hdr.tcp.src_port;
        flow.l4_dst = hdr.tcp.dst_port;
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        flow.l4_src = hdr.udp.src_port;
        flow.l4_dst = hdr.udp.dst_port;
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

parser CsaudIngressParser(packet_in packet, out headers_t hdr, out metadata_t meta,
                          out ingress_intrinsic_metadata_t intrinsic) {
    CsaudParser() csaud_parser;

    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        meta.bridged.setValid();
        meta.bridged.tag = TAG_BRIDGED;
        meta.bridged.pad1 = 0;
        transition select(intrinsic.ingress_port) {
            CPU_PORT: parse_packet_out;
            RECIRCULATION_PORT: parse_alarm;
            default: parse_packet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_packet;
    }

    state parse_alarm {
        packet.extract(meta.alarm);
        transition accept;
    }

    state parse_packet {
        csaud_parser.apply(packet, hdr, meta.flow);
        transition accept;
    }
}

parser CsaudEgressParser(packet_in packet, out headers_t hdr, out egress_metadata_t meta,
                         out egress_intrinsic_metadata_t intrinsic) {
    CsaudParser() csaud_parser;

    state start {
        packet.extract(intrinsic);
        transition select(packet.lookahead<bit<8>>()) {
            TAG_LOSS: parse_made;
            TAG_ALARM: parse_alarm;
            default: parse_bridged;
        }
    }

    state parse_bridged {
        packet.extract(meta.bridged);
        transition parse_packet;
    }

    state parse_made {
        packet.extract(meta.made);
        transition parse_packet;
    }

    state parse_alarm {
        packet.extract(meta.alarm);
        transition accept;
    }

    state parse_packet {
        csaud_parser.apply(packet, hdr, meta.flow);
        transition accept;
    }
}
