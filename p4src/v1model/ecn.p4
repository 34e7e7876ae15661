// Congestion marks: never below `low` packets in the port's shadow, always from `high` on, with a probability that
// rises linearly in between. Other traffic has half the room of DATA, so that its packets count twice. Only packets whose
// sender listens are marked, and none whose header has options.
control Ecn(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) by_port;
    counter(PORTS_BY_PATH, CounterType.packets_and_bytes) marked;
    register<bit<32>>(PORTS) draws;   // packets that could have been marked so far, per port

    // Linear without a division: a draw of 16 bits is below (depth - low) / (high - low) of its range when its
    // product with (high - low) is below (depth - low) of it.
    action mark_between(bit<16> low, bit<16> high, bit<32> seed) {
        bit<32> n;
        bit<32> value;
        draws.read(n, (bit<32>)meta.port);
        draws.write((bit<32>)meta.port, n + 1);
        draw(seed, n, value);
        bit<16> depth = meta.kind == 0 ? meta.depth |+| meta.depth : meta.depth;
        bit<32> above = (bit<32>)(depth |-| low) << 16;
        bit<32> drawn = (bit<32>)value[31:16] * (bit<32>)(high |-| low);
        meta.ecn = (depth >= high || drawn < above) ? ECN_CONGESTION_EXPERIENCED : meta.ecn;
        by_port.count();
    }

    action never() {
        by_port.count();
    }

    table marking {
        key = { standard_metadata.egress_spec: exact @name("port"); }
        actions = { mark_between; never; }
        const default_action = never();
        counters = by_port;
        size = PORTS;
    }

    apply {
        bool options = hdr.ipv4.isValid() && hdr.ipv4.ihl != 5;
        if (!options && meta.ecn != 0 && meta.ecn != ECN_CONGESTION_EXPERIENCED) {
            marking.apply();
            if (hdr.ipv6.isValid()) {
                hdr.ipv6.ecn = meta.ecn;
            } else {
                hdr.ipv4.ecn = meta.ecn;
            }
            if (meta.kind == KIND_DATA && meta.ecn == ECN_CONGESTION_EXPERIENCED) {
                marked.count((bit<32>)(meta.port ++ meta.path_id[3:0]));
            }
        }
    }
}
