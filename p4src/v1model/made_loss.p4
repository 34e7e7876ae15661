// How a DATA packet becomes a LOSS, wherever it is made.

// The first `kept` bytes of the frame, whose UDP header begins at `udp_at`. The first form goes to a UDP port of its own, which an ordinary socket reads;
// the second, with an iCRC, stays on the RoCE port and is an ordinary datagram to the receiver's queue pair.
// Of the two IP headers one is valid; what is written into the other leaves no trace.
action make_loss(inout headers_t hdr, in bit<16> kept, in bit<16> udp_at, in bit<6> dscp, in bit<1> with_icrc) {
    hdr.csa.type = CSA_TYPE_LOSS;
    hdr.csa.flags = hdr.csa.flags | CSA_FLAG_TRIMMED;
    hdr.bth.pad_count = 0;
    hdr.udp.dst_port = with_icrc == 1 ? UDP_PORT_ROCE : UDP_PORT_LOSS;
    hdr.udp.length = kept - udp_at;
    hdr.udp.checksum = 0;
    hdr.ipv4.total_length = kept - OFFSET_OF_IP;
    hdr.ipv4.dscp = dscp;
    hdr.ipv6.payload_length = kept - udp_at;
    hdr.ipv6.dscp = dscp;
}

// From its receiver back to its sender: addresses and queue pairs change places.
action turn_back(inout headers_t hdr) {
    bit<48> mac = hdr.ethernet.dst;
    bit<32> address = hdr.ipv4.dst;
    bit<128> address6 = hdr.ipv6.dst;
    bit<24> queue_pair = hdr.bth.dst_qp;
    hdr.ethernet.dst = hdr.ethernet.src;
    hdr.ethernet.src = mac;
    hdr.ipv4.dst = hdr.ipv4.src;
    hdr.ipv4.src = address;
    hdr.ipv6.dst = hdr.ipv6.src;
    hdr.ipv6.src = address6;
    hdr.bth.dst_qp = hdr.deth.src_qp;
    hdr.deth.src_qp = queue_pair;
}
