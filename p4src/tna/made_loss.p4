// The mirrored copy, cut short, becomes a LOSS where it leaves. The first form goes to a UDP port of its own, which
// an ordinary socket reads; the second, with an iCRC, stays on the RoCE port and is an ordinary datagram to the
// receiver's queue pair.
control MadeLoss(inout headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t intrinsic) {
    // LOSS made here, by the port whose queue took it. What a full queue of LOSS loses only the traffic manager counts.
    @name(".CsaudEgress.loss_signal.trim_sent")
    Counter<bit<64>, bit<7>>(PORTS, CounterType_t.PACKETS_AND_BYTES) trim_sent;
    @name(".CsaudEgress.loss_signal.bounce_sent")
    Counter<bit<64>, bit<7>>(PORTS, CounterType_t.PACKETS_AND_BYTES) bounce_sent;

    action measure() {
        meta.kept = hdr.udp.length + (OFFSET_OF_UDP - LENGTH_OF_ICRC);   // its iCRC is wrong by now
    }

    action make_loss() {
        hdr.csa.type = CSA_TYPE_LOSS;
        hdr.csa.flags = hdr.csa.flags | CSA_FLAG_TRIMMED;
        hdr.bth.pad_count = 0;
        hdr.udp.length = meta.kept - OFFSET_OF_UDP;
        hdr.udp.checksum = 0;
        hdr.ipv4.total_length = meta.kept - OFFSET_OF_IP;
        hdr.ipv4.dscp = meta.made.dscp;
        hdr.ipv4.ttl = hdr.ipv4.ttl - HOPS_OF_MADE_LOSS;
    }

    // From its receiver back to its sender: addresses and queue pairs change places.
    action turn_back() {
        bit<48> mac = hdr.ethernet.dst;
        bit<32> address = hdr.ipv4.dst;
        bit<24> queue_pair = hdr.bth.dst_qp;
        hdr.ethernet.dst = hdr.ethernet.src;
        hdr.ethernet.src = mac;
        hdr.ipv4.dst = hdr.ipv4.src;
        hdr.ipv4.src = address;
        hdr.bth.dst_qp = hdr.deth.src_qp;
        hdr.deth.src_qp = queue_pair;
    }

    apply {
        meta.kind = KIND_LOSS;
        if (meta.made.make == 1) {
            measure();
            meta.kept = min(meta.kept, meta.made.kept);
            meta.kept = max(meta.kept, OFFSET_OF_UDP + UDP_LENGTH_OF_LOSS);
            if (meta.made.with_icrc == 1) {
                meta.kept = OFFSET_OF_UDP + UDP_LENGTH_OF_LOSS + LENGTH_OF_ICRC;
                hdr.udp.dst_port = UDP_PORT_ROCE;
            } else {
                hdr.udp.dst_port = UDP_PORT_LOSS;
            }
            make_loss();
        }
        if (meta.made.returned == 1) {
            turn_back();
            bounce_sent.count(intrinsic.egress_port[6:0]);
        } else {
            trim_sent.count(intrinsic.egress_port[6:0]);
        }
    }
}
