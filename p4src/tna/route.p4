// Longest prefix to path group. ARP is routed by the address it asks for, so one flat subnet needs neither
// gateways nor flooding.
control Route(inout headers_t hdr, inout metadata_t meta, inout ingress_intrinsic_metadata_for_deparser_t to_deparser) {
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) by_prefix;
    Counter<bit<64>, bit<2>>(4, CounterType_t.PACKETS_AND_BYTES) discarded;

    action set_group(bit<16> group) {
        meta.group = group;
        by_prefix.count();
    }

    action no_route() {
        by_prefix.count();
    }

    table ipv4_lpm {
        key = { meta.flow.route_key: lpm @name("dst"); }
        actions = { set_group; no_route; }
        const default_action = no_route();
        counters = by_prefix;
        size = ROUTES;
    }

    action discard(bit<2> reason) {
        discarded.count(reason);
        to_deparser.drop_ctl = 1;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            if (meta.flow.plain_ipv4 == 1 && meta.flow.bad_checksum) {
                discard((bit<2>)DISCARD_BAD_CHECKSUM);
                exit;
            }
            if (hdr.ipv4.ttl <= 1) {
                discard((bit<2>)DISCARD_TTL_EXPIRED);
                exit;
            }
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        }
        switch (ipv4_lpm.apply().action_run) {
            no_route: {
                discard((bit<2>)DISCARD_NO_ROUTE);
                exit;
            }
        }
    }
}
