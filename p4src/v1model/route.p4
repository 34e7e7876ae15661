// Longest prefix to path group. ARP is routed by the address it asks for, and so is a neighbour solicitation, so one
// flat subnet needs neither gateways nor flooding.
control Route(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    MendIpv4() mend_ipv4;
    direct_counter(CounterType.packets_and_bytes) by_prefix;
    direct_counter(CounterType.packets_and_bytes) by_prefix6;
    counter(REASONS, CounterType.packets_and_bytes) discarded;
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
        meta.no_route = 1;
        by_prefix.count();
    }

    table ipv4_lpm {
        key = { meta.route_key: lpm @name("dst"); }
        actions = { set_group; no_route; }
        const default_action = no_route();
        counters = by_prefix;
        size = ROUTES;
    }

    action set_group6(bit<16> group) {
        meta.group = group;
        by_prefix6.count();
    }

    action no_route6() {
        meta.no_route = 1;
        by_prefix6.count();
    }

    table ipv6_lpm {
        key = { meta.route_key6: lpm @name("dst"); }
        actions = { set_group6; no_route6; }
        const default_action = no_route6();
        counters = by_prefix6;
        size = ROUTES;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            if (standard_metadata.checksum_error == 1) {
                discard(DISCARD_BAD_CHECKSUM);
                exit;
            }
            if (hdr.ipv4.version != 4 || hdr.ipv4.ihl < 5 || hdr.ipv4.total_length < (bit<16>)(hdr.ipv4.ihl ++ 2w0)) {
                discard(DISCARD_MALFORMED);
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
        } else if (hdr.ipv6.isValid()) {
            if (meta.on_link == 1) {
                discard(DISCARD_NO_ROUTE);
                exit;
            }
            // Like ARP, neighbour discovery loses no hop; no default route is one for it (below).
            if (!hdr.neighbours.isValid() || hdr.ipv6.hop_limit != HOP_LIMIT_OF_NEIGHBOURS) {
                if (hdr.ipv6.hop_limit <= 1) {
                    discard(DISCARD_TTL_EXPIRED);
                    exit;
                }
                hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
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
        if (hdr.ipv6.isValid()) {
            ipv6_lpm.apply();
        } else {
            ipv4_lpm.apply();
        }
        if (meta.no_route == 1) {
            if (hdr.arp.isValid() && hdr.arp.operation == ARP_REPLY && hdr.arp.target_ip == 0) {
                discard(DISCARD_ANSWER);
            } else {
                discard(DISCARD_NO_ROUTE);
            }
            exit;
        }
    }
}
