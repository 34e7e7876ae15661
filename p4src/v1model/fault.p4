// Seeded loss at a port's entrance: silent like a corrupted frame, or signalled like congestion.
control Fault(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) by_port;
    counter(PORTS_BY_KIND, CounterType.packets_and_bytes) injected;
    counter(PORTS_BY_PATH, CounterType.packets_and_bytes) path_injected;
    register<bit<32>>(PORTS) draws;   // packets exposed to a fault so far, per port

    // Loses a packet with probability threshold / 2^32.
    action lose(bit<32> threshold, bit<32> seed, bit<1> signalled) {
        bit<32> n;
        bit<32> value;
        draws.read(n, (bit<32>)meta.port);
        draws.write((bit<32>)meta.port, n + 1);
        draw(seed, n, value);
        meta.lost = value < threshold ? 1w1 : 1w0;
        meta.signalled = signalled;
        by_port.count();
    }

    action none() {
        by_port.count();
    }

    table inject {
        key = {
            standard_metadata.egress_spec: exact @name("port");
            meta.kind: ternary @name("kind");
        }
        actions = { lose; none; }
        const default_action = none();
        counters = by_port;
        size = PORTS_BY_KIND;
    }

    apply {
        inject.apply();
        if (meta.lost == 1 && meta.signalled == 0) {
            injected.count((bit<32>)(meta.port ++ meta.kind));
            if (meta.kind == KIND_DATA) {
                path_injected.count((bit<32>)(meta.port ++ meta.path_id[3:0]));
            }
            mark_to_drop(standard_metadata);
            exit;
        }
    }
}
