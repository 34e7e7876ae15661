// A number at random for fault injection, before the port is known: so that the entry of the port can compare at once.
control Chance(inout metadata_t meta) {
    Random<bit<32>>() draw;

    apply {
        meta.drawn = draw.get();
    }
}

// Loss at a port's entrance by the chip's random numbers: silent like a corrupted frame, or signalled like congestion.
control Fault(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_for_tm_t to_tm,
              inout ingress_intrinsic_metadata_for_deparser_t to_deparser) {
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) by_port;
    Counter<bit<64>, bit<9>>(PORTS_BY_KIND, CounterType_t.PACKETS_AND_BYTES) injected;
    Counter<bit<64>, bit<11>>(PORTS_BY_PATH, CounterType_t.PACKETS_AND_BYTES) path_injected;

    // Loses a packet with probability threshold / 2^32: if what was drawn lies below.
    action lose(bit<32> threshold, bit<1> signalled) {
        meta.below = threshold |-| meta.drawn;
        meta.signalled = signalled;
        by_port.count();
    }

    action none() {
        by_port.count();
    }

    table inject {
        key = {
            to_tm.ucast_egress_port: exact @name("port");
            meta.kind: ternary @name("kind");
        }
        actions = { lose; none; }
        const default_action = none();
        counters = by_port;
        size = PORTS_BY_KIND;
    }

    apply {
        inject.apply();
        if (meta.below != 0) {
            if (meta.signalled == 1) {
                meta.bridged.lost = 1;
            } else {
                injected.count(meta.loss.by_kind);
                if (meta.kind == KIND_DATA) {
                    path_injected.count(meta.loss.by_path);
                }
                meta.silent = 1;
                to_deparser.drop_ctl = 1;
            }
        }
    }
}
