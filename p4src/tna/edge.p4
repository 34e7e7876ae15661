// What comes from a host is checked where it comes in; other switches are trusted, because they have checked. Hosts
// send no LOSS: it would ride in the highest queue. Their source addresses are their own: BOUNCE sends a LOSS there.
// And their classes are those that the policy grants.
control Edge(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t intrinsic,
             inout ingress_intrinsic_metadata_for_deparser_t to_deparser) {
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) by_port;
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) by_source;
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) by_class;
    Counter<bit<64>, bit<9>>(PORTS_BY_REASON, CounterType_t.PACKETS_AND_BYTES) refused;
    Counter<bit<64>, bit<9>>(PORTS_BY_KIND, CounterType_t.PACKETS_AND_BYTES) refused_kind;   // the same packets
    Hash<bit<9>>(HashAlgorithm_t.IDENTITY) port_and_reason;
    Hash<bit<9>>(HashAlgorithm_t.IDENTITY) port_and_kind;

    action check() {
        meta.from_host = 1;
        by_port.count();
    }

    action trust() {
        by_port.count();
    }

    table ports {
        key = { intrinsic.ingress_port: exact @name("port"); }
        actions = { check; trust; }
        const default_action = trust();
        counters = by_port;
        size = PORTS;
    }

    action belongs() {
        by_source.count();
    }

    action foreign() {
        meta.foreign = 1;
        by_source.count();
    }

    // These three ask nothing of each other, so that they can be in one stage.
    table sources {
        key = {
            intrinsic.ingress_port: exact @name("port");
            meta.flow.src_key: lpm @name("src");
        }
        actions = { belongs; foreign; }
        const default_action = foreign();
        counters = by_source;
        size = SOURCES;
    }

    action grant() {
        by_class.count();
    }

    action refuse() {
        meta.class_refused = 1;
        by_class.count();
    }

    table classes {
        key = {
            intrinsic.ingress_port: exact @name("port");
            hdr.csa.cls: exact @name("cls");
        }
        actions = { grant; refuse; }
        const default_action = grant();
        counters = by_class;
        size = CLASSES;
    }

    apply {
        ports.apply();
        // What asks whether an address is free has none yet (RFC 5227).
        if (hdr.ipv4.isValid() || (hdr.arp.isValid() && meta.flow.src_key != 0)) {
            sources.apply();
        }
        if (meta.kind != 0) {
            classes.apply();
        }
        if (meta.from_host == 1) {
            if (hdr.csa.isValid() && hdr.csa.type == CSA_TYPE_LOSS) {
                meta.refused = 1;
                meta.refusal = REFUSED_LOSS;
            } else if (meta.class_refused == 1) {
                meta.refused = 1;
                meta.refusal = REFUSED_CLASS;
            } else if (meta.foreign == 1) {
                meta.refused = 1;
                meta.refusal = REFUSED_SOURCE;
            }
        }
        if (meta.refused == 1) {
            refused.count(port_and_reason.get({ intrinsic.ingress_port[6:0], meta.refusal }));
            refused_kind.count(port_and_kind.get({ intrinsic.ingress_port[6:0], meta.kind }));
            to_deparser.drop_ctl = 1;
        }
    }
}
