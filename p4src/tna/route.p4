// One hop less, if the packet can take one more. Neither does this wait for what the edge says, nor the edge for this.
control Hop(inout headers_t hdr, inout metadata_t meta) {
    MendIpv4() mend_ipv4;

    action discard(bit<3> reason) {
        meta.discard = 1;
        meta.reason = reason;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            if (meta.flow.plain_ipv4 == 1 && meta.flow.bad_checksum) {
                discard((bit<3>)DISCARD_BAD_CHECKSUM);
            } else if (hdr.ipv4.ttl <= 1) {
                discard((bit<3>)DISCARD_TTL_EXPIRED);
            } else {
                hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
                if (meta.flow.plain_ipv4 == 0) {
                    mend_ipv4.apply(hdr);
                }
            }
        } else if (!hdr.arp.isValid()) {
            // No address to route by. Not by a default route either: nothing would end its way round a loop.
            discard((bit<3>)DISCARD_NO_ROUTE);
        }
    }
}

// Longest prefix to path group. ARP is routed by the address it asks for, so one flat subnet needs neither
// gateways nor flooding.
control Route(inout headers_t hdr, inout metadata_t meta, inout ingress_intrinsic_metadata_for_deparser_t to_deparser) {
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) by_prefix;
    Counter<bit<64>, bit<3>>(REASONS, CounterType_t.PACKETS_AND_BYTES) discarded;
    Counter<bit<64>, bit<2>>(4, CounterType_t.PACKETS_AND_BYTES) discarded_kind;   // the same packets

    action set_group(bit<16> group) {
        meta.group = group;
        by_prefix.count();
    }

    action no_route() {
        meta.discard = 1;
        meta.reason = (bit<3>)DISCARD_NO_ROUTE;
        by_prefix.count();
    }

    table ipv4_lpm {
        key = { meta.flow.route_key: lpm @name("dst"); }
        actions = { set_group; no_route; }
        const default_action = no_route();
        counters = by_prefix;
        size = ROUTES;
    }

    // One place for all reasons: a counter belongs to one table here.
    apply {
        if (meta.discard == 0) {
            ipv4_lpm.apply();
        }
        if (meta.discard == 1) {
            discarded.count(meta.reason);
            discarded_kind.count(meta.kind);
            to_deparser.drop_ctl = 1;
        }
    }
}
