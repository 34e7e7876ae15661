// What a packet is to this fabric, counted where it comes in.
control Classify(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) by_dscp;
    counter(PORTS_BY_KIND, CounterType.packets_and_bytes) ingress_kind;

    action set_queue(bit<3> queue) {
        standard_metadata.priority = queue;
        by_dscp.count();
    }

    action share_queue() {
        standard_metadata.priority = PRIORITY_OTHER;
        by_dscp.count();
    }

    // Traffic that is not CSA has the queue that its DSCP says; what CSA packets are says theirs.
    table queues {
        key = { meta.dscp: exact @name("dscp"); }
        actions = { set_queue; share_queue; }
        const default_action = share_queue();
        counters = by_dscp;
        size = QUEUES;
    }

    apply {
        if (hdr.csa.isValid()) {
            meta.asked = hdr.csa.spray;
            meta.cls = hdr.csa.cls;
            meta.comm = hdr.csa.comm;
            meta.path_id = hdr.csa.path_id;
            // A LOSS is on its own UDP port without an iCRC, or on the RoCE port with one.
            bool on_loss_port = hdr.udp.dst_port == UDP_PORT_LOSS;
            bool cut = hdr.csa.type == CSA_TYPE_LOSS && hdr.csa.flags & CSA_FLAG_TRIMMED != 0;
            if (on_loss_port && (!cut || hdr.udp.length < UDP_LENGTH_OF_LOSS)) {
                meta.kind = 0;
            } else if (!on_loss_port && hdr.udp.length < UDP_LENGTH_MIN_CSA) {
                meta.kind = 0;
            } else if (cut) {
                meta.kind = KIND_LOSS;
                standard_metadata.priority = PRIORITY_LOSS;
            } else if (hdr.csa.type == CSA_TYPE_DATA || hdr.csa.type == CSA_TYPE_PARITY) {
                meta.kind = KIND_DATA;
                meta.no_trim = hdr.csa.flags & CSA_FLAG_NO_TRIM != 0 ? 1w1 : 1w0;
                standard_metadata.priority = PRIORITY_DATA;
            } else {
                meta.kind = KIND_CONTROL;
                standard_metadata.priority = PRIORITY_CONTROL;
            }
        }
        if (hdr.ipv6.isValid()) {   // asked first, by itself: few packets pay for the comparison of 128 bits
            if (hdr.ipv6.src[127:118] == LINK_LOCAL || hdr.ipv6.src == 0) {
                meta.on_link = 1;
            }
        }
        if (meta.kind == 0 && (hdr.ipv4.isValid() || hdr.ipv6.isValid())) {
            queues.apply();
        }
        // A LOSS that comes round again has not come in; it keeps the priority of the signal that made it.
        if (standard_metadata.instance_type == INSTANCE_RECIRCULATED) {
            standard_metadata.priority = meta.loss_priority;
        } else {
            ingress_kind.count((bit<32>)(standard_metadata.ingress_port[6:0] ++ meta.kind));
        }
    }
}
