// What becomes of a packet for which there is no room: told of, or only counted. A new signal is one action here.
// Words and counters follow SAI's packet trimming.
control LossSignal(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) by_port;
    counter(PORTS_BY_KIND, CounterType.packets_and_bytes) trimmed;
    counter(PORTS_BY_KIND, CounterType.packets_and_bytes) congestion_dropped;

    // DATA becomes a LOSS to its receiver: the headers alone, to the port where trimmed packets are read.
    action trim(bit<6> dscp, bit<3> priority) {
        trimmed.count((bit<32>)(meta.port ++ meta.kind));
        meta.kind = KIND_LOSS;
        hdr.csa.type = CSA_TYPE_LOSS;
        hdr.csa.flags = hdr.csa.flags | CSA_FLAG_TRIMMED;
        hdr.bth.pad_count = 0;
        hdr.udp.dst_port = UDP_PORT_LOSS;
        hdr.udp.length = UDP_LENGTH_OF_LOSS;
        hdr.udp.checksum = 0;
        hdr.ipv4.total_length = IPV4_LENGTH_OF_LOSS;
        hdr.ipv4.dscp = dscp;
        standard_metadata.priority = priority;
        truncate(FRAME_LENGTH_OF_LOSS);
        by_port.count();
    }

    action drop() {
        congestion_dropped.count((bit<32>)(meta.port ++ meta.kind));
        mark_to_drop(standard_metadata);
        by_port.count();
    }

    table signal {
        key = {
            standard_metadata.egress_spec: exact @name("port");
            meta.kind: ternary @name("kind");
        }
        actions = { trim; drop; }
        const default_action = drop();
        counters = by_port;
        size = PORTS_BY_KIND;
    }

    apply {
        if (meta.kind == KIND_DATA) {
            signal.apply();
        } else {
            drop();   // only DATA can be cut: everything else is too small, or not ours
        }
    }
}
