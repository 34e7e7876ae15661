// The occupancy shadow: how many packets of ours wait for a port. The queue's own depth is not visible before
// egress, so ingress keeps count: one more when it admits a packet, one less when egress takes it out.
// The register is shared by both pipelines, so it lives at the top level.
register<bit<16>>(PORTS) occupancy;

control Congestion(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) by_port;

    // In packets. Above trim_at DATA is cut; what must not be cut (control, LOSS, NO_TRIM) has room up to drop_at.
    action set_limits(bit<16> trim_at, bit<16> drop_at) {
        meta.trim_at = trim_at;
        meta.drop_at = drop_at;
        by_port.count();
    }

    table limits {
        key = { standard_metadata.egress_spec: exact @name("port"); }
        actions = { set_limits; }
        const default_action = set_limits(0xFFFF, 0xFFFF);
        counters = by_port;
        size = PORTS;
    }

    action claim() {
        bit<16> depth;
        occupancy.read(depth, (bit<32>)meta.port);
        meta.admitted = depth < meta.limit ? 1w1 : 1w0;
        occupancy.write((bit<32>)meta.port, depth + (bit<16>)meta.admitted);
        meta.counted = meta.admitted;
    }

    apply {
        limits.apply();
        meta.limit = meta.trim_at;
        if (meta.kind == KIND_CONTROL || meta.kind == KIND_LOSS ||
            (meta.kind == KIND_DATA && hdr.csa.flags & CSA_FLAG_NO_TRIM != 0)) {
            meta.limit = meta.drop_at;
        }
        if (meta.lost == 0) {
            claim();
        }
    }
}

// The egress half: this packet has left the queue.
control Departure(inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action release() {
        bit<16> depth;
        occupancy.read(depth, (bit<32>)meta.port);
        occupancy.write((bit<32>)meta.port, depth |-| 1);
    }

    apply {
        if (meta.counted == 1) {
            release();
        }
    }
}
