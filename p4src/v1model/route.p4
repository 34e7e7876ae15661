// Longest prefix to path group. ARP is routed by the address it asks for, so one flat subnet needs neither
// gateways nor flooding.
control Route(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    MendIpv4() mend_ipv4;
    direct_counter(CounterType.packets_and_bytes) by_prefix;
    counter(4, CounterType.packets_and_bytes) discarded;
    counter(4, CounterType.packets_and_bytes) discarded_kind;   // the same packets

    action discard(bit<32> reason) {
        discarded.count(reason);
        discarded_kind.count((bit<32>)meta.kind);
        mark_to_drop(standard_metadata);
    }

    action set_group(bit<16> group) {
        meta.group = group;
        by_prefix.count();
    }

    action no_route() {
        by_prefix.count();
    }

    table ipv4_lpm {
        key = { meta.route_key: lpm @name("dst"); }
        actions = { set_group; no_route; }
        const default_action = no_route();
        counters = by_prefix;
        size = ROUTES;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            if (standard_metadata.checksum_error == 1) {
                discard(DISCARD_BAD_CHECKSUM);
                exit;
            }
            if (hdr.ipv4.ttl <= 1) {
                discard(DISCARD_TTL_EXPIRED);
                exit;
            }
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            if (hdr.ipv4.ihl != 5) {
                mend_ipv4.apply(hdr);
            }
        } else if (!hdr.arp.isValid()) {
            // No address to route by. Not by a default route either: nothing would end its way round a loop.
            if (standard_metadata.parser_error == error.NoError) {
                discard(DISCARD_NO_ROUTE);
            } else {
                discard(DISCARD_CUT_SHORT);
            }
            exit;
        }
        switch (ipv4_lpm.apply().action_run) {
            no_route: {
                discard(DISCARD_NO_ROUTE);
                exit;
            }
        }
    }
}
