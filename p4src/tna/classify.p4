// What a packet is to this fabric. Ahead of what can end a packet's way, as the hashes are: much waits for the kind.
control Kind(in headers_t hdr, inout metadata_t meta) {
    // Lengths that are too short, by how much. A step of its own: a condition takes no such range.
    action measure() {
        meta.short_of_loss = UDP_LENGTH_OF_LOSS |-| hdr.udp.length;
        meta.short_of_csa = UDP_LENGTH_MIN_CSA |-| hdr.udp.length;
    }

    apply {
        if (hdr.csa.isValid()) {
            measure();
            meta.asked = hdr.csa.spray;
            meta.cls = hdr.csa.cls;
            meta.comm = hdr.csa.comm;
            // A LOSS is on its own UDP port without an iCRC, or on the RoCE port with one.
            if (hdr.udp.dst_port == UDP_PORT_LOSS) {
                if (hdr.csa.type == CSA_TYPE_LOSS && hdr.csa.flags & CSA_FLAG_TRIMMED != 0 &&
                    meta.short_of_loss == 0) {
                    meta.kind = KIND_LOSS;
                }
            } else if (meta.short_of_csa == 0) {
                if (hdr.csa.type == CSA_TYPE_DATA || hdr.csa.type == CSA_TYPE_PARITY) {
                    meta.kind = KIND_DATA;
                } else if (hdr.csa.type == CSA_TYPE_LOSS && hdr.csa.flags & CSA_FLAG_TRIMMED != 0) {
                    meta.kind = KIND_LOSS;
                } else {
                    meta.kind = KIND_CONTROL;
                }
            }
        }
    }
}

// Which queue it joins; and counted where it comes in.
control Classify(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t intrinsic,
                 inout ingress_intrinsic_metadata_for_tm_t to_tm) {
    Counter<bit<64>, bit<9>>(PORTS_BY_KIND, CounterType_t.PACKETS_AND_BYTES) ingress_kind;

    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) by_dscp;
    Hash<bit<9>>(HashAlgorithm_t.IDENTITY) port_and_kind;

    action set_queue(bit<3> queue) {
        to_tm.qid = (QueueId_t)queue;
        meta.own_queue = (bit<4>)queue;
        by_dscp.count();
    }

    action share_queue() {
        to_tm.qid = (QueueId_t)QUEUE_OF_OTHERS;
        meta.own_queue = (bit<4>)QUEUE_OF_OTHERS;
        by_dscp.count();
    }

    // Traffic that is not CSA has the queue that its DSCP says; what CSA packets are says theirs.
    table queues {
        key = { hdr.ipv4.dscp: exact @name("dscp"); }
        actions = { set_queue; share_queue; }
        const default_action = share_queue();
        counters = by_dscp;
        size = QUEUES;
    }

    apply {
        if (meta.kind == KIND_DATA) {
            to_tm.qid = (QueueId_t)PRIORITY_DATA;
        } else if (meta.kind == KIND_CONTROL) {
            to_tm.qid = (QueueId_t)PRIORITY_CONTROL;
        } else if (meta.kind == KIND_LOSS) {
            to_tm.qid = (QueueId_t)PRIORITY_LOSS;
        } else {
            queues.apply();
        }
        ingress_kind.count(port_and_kind.get({ intrinsic.ingress_port[6:0], meta.kind }));
    }
}
