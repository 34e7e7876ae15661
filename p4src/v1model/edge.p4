// What comes from a host is checked where it comes in; other switches are trusted, because they have checked. Hosts
// send no LOSS: it would ride in the highest queue. Their source addresses are their own: BOUNCE sends a LOSS there.
// And their classes are those that the policy grants.
control Edge(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) by_port;
    direct_counter(CounterType.packets_and_bytes) by_source;
    direct_counter(CounterType.packets_and_bytes) by_source6;
    direct_counter(CounterType.packets_and_bytes) by_class;
    counter(PORTS_BY_REASON, CounterType.packets_and_bytes) refused;
    counter(PORTS_BY_KIND, CounterType.packets_and_bytes) refused_kind;   // the same packets

    action check() {
        by_port.count();
    }

    action trust() {
        by_port.count();
    }

    table ports {
        key = { standard_metadata.ingress_port: exact @name("port"); }
        actions = { check; trust; }
        const default_action = trust();
        counters = by_port;
        size = PORTS;
    }

    action belongs() {
        by_source.count();
    }

    action foreign() {
        meta.refused = 1;
        meta.refusal = REFUSED_SOURCE;
        by_source.count();
    }

    table sources {
        key = {
            standard_metadata.ingress_port: exact @name("port");
            meta.src_key: lpm @name("src");
        }
        actions = { belongs; foreign; }
        const default_action = foreign();
        counters = by_source;
        size = SOURCES;
    }

    action belongs6() {
        by_source6.count();
    }

    action foreign6() {
        meta.refused = 1;
        meta.refusal = REFUSED_SOURCE;
        by_source6.count();
    }

    table sources6 {
        key = {
            standard_metadata.ingress_port: exact @name("port");
            meta.src_key6: lpm @name("src");
        }
        actions = { belongs6; foreign6; }
        const default_action = foreign6();
        counters = by_source6;
        size = SOURCES;
    }

    action grant() {
        by_class.count();
    }

    action refuse() {
        meta.refused = 1;
        meta.refusal = REFUSED_CLASS;
        by_class.count();
    }

    table classes {
        key = {
            standard_metadata.ingress_port: exact @name("port");
            meta.cls: exact @name("cls");
        }
        actions = { grant; refuse; }
        const default_action = grant();
        counters = by_class;
        size = CLASSES;
    }

    apply {
        switch (ports.apply().action_run) {
            check: {
                // What asks whether an address is free has none yet (RFC 5227).
                if (hdr.ipv4.isValid() || (hdr.arp.isValid() && meta.src_key != 0)) {
                    sources.apply();
                } else if (hdr.ipv6.isValid() && meta.on_link == 0) {
                    sources6.apply();
                    // Who speaks for an address has it.
                    if (hdr.neighbours.isValid() && hdr.neighbours.type == ICMPV6_NEIGHBOUR_ADVERTISEMENT &&
                        hdr.neighbours.target != hdr.ipv6.src) {
                        meta.refused = 1;
                        meta.refusal = REFUSED_SOURCE;
                    }
                }
                if (meta.kind != 0) {
                    classes.apply();
                }
                if (hdr.csa.isValid() && hdr.csa.type == CSA_TYPE_LOSS) {
                    meta.refused = 1;
                    meta.refusal = REFUSED_LOSS;
                }
            }
        }
        if (meta.refused == 1) {
            refused.count((bit<32>)(standard_metadata.ingress_port[6:0] ++ meta.refusal));
            refused_kind.count((bit<32>)(standard_metadata.ingress_port[6:0] ++ meta.kind));
            mark_to_drop(standard_metadata);
            exit;
        }
    }
}
