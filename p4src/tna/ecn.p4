// Congestion marks, where the packet leaves the queue: never when it joined the queue below `low`, always from
// low + span on, with a probability that rises linearly in between. `span` is a power of two less one, because a
// random number can be masked here but not scaled. Other traffic has half the room of DATA, so that its cells count twice.
// Only packets whose sender listens are marked, and none whose header has options.
control Ecn(inout headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t intrinsic) {
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) by_port;
    Counter<bit<64>, bit<11>>(PORTS_BY_PATH, CounterType_t.PACKETS_AND_BYTES) marked;
    Random<bit<16>>() draw;

    // In cells of the queue's depth.
    action mark_between(bit<16> low, bit<16> span) {
        meta.low = low;
        meta.drawn = meta.drawn & span;
        by_port.count();
    }

    action never() {
        meta.low = 0xFFFF;
        meta.drawn = 0;
        by_port.count();
    }

    table marking {
        key = { intrinsic.egress_port: exact @name("port"); }
        actions = { mark_between; never; }
        const default_action = never();
        counters = by_port;
        size = PORTS;
    }

    // One step a stage: the compiler takes no longer ones.
    action set_mark_at() {
        meta.mark_at = meta.low |+| meta.drawn;
    }

    action compare() {
        meta.below = meta.mark_at |-| meta.depth;
    }

    action count_twice() {
        meta.depth = meta.depth |+| meta.depth;
    }

    action mark() {
        hdr.ipv4.ecn = ECN_CONGESTION_EXPERIENCED;
    }

    apply {
        meta.drawn = draw.get();
        if (meta.flow.plain_ipv4 == 1 && hdr.ipv4.ecn != 0 && hdr.ipv4.ecn != ECN_CONGESTION_EXPERIENCED) {
            marking.apply();
            if (meta.kind == 0) {
                count_twice();
            }
            set_mark_at();
            compare();
            if (meta.below == 0) {
                mark();
                if (meta.kind == KIND_DATA) {
                    marked.count(meta.by_path);
                }
            }
        }
    }
}
