// Which path of the group this packet takes. A spray mode computes an index, whatever it is made of; one action
// selector turns it into a live port, so that a dead port is skipped in every mode alike.
// A new mode is one action here, named in `policy`.
control Spray(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) by_policy;
    direct_counter(CounterType.packets_and_bytes) by_group;
    counter(4, CounterType.packets_and_bytes) no_path;
    register<bit<32>>(GROUPS) draws;   // packets sprayed at random so far, per group
    register<bit<16>>(GROUPS) turns;   // next turn of the round robin, per group
    action_selector(HashAlgorithm.identity, MEMBERS, 16) path_selector;

    // The 5-tuple decides: what fabrics without this program do.
    action ecmp(bit<32> seed) {
        bit<32> key;
        bit<32> value;
        hash(key, HashAlgorithm.crc32, (bit<32>)0,
             { meta.route_key, meta.src_key, meta.protocol, meta.l4_src, meta.l4_dst }, 64w0x100000000);
        draw(seed, key, value);
        meta.index = value[31:16];
        by_policy.count();
    }

    // The sender's path_id is part of the hash: packets of one path_id stay in order, and the sender chooses.
    action entropy(bit<32> seed) {
        bit<32> key;
        bit<32> value;
        hash(key, HashAlgorithm.crc32, (bit<32>)0,
             { meta.route_key, meta.src_key, meta.path_id }, 64w0x100000000);
        draw(seed, key, value);
        meta.index = value[31:16];
        by_policy.count();
    }

    @name("random") action at_random(bit<32> seed) {
        bit<32> n;
        bit<32> value;
        draws.read(n, (bit<32>)meta.group[9:0]);
        draws.write((bit<32>)meta.group[9:0], n + 1);
        draw(seed, n, value);
        meta.index = value[31:16];
        by_policy.count();
    }

    action round_robin() {
        turns.read(meta.index, (bit<32>)meta.group[9:0]);
        turns.write((bit<32>)meta.group[9:0], meta.index + 1);
        by_policy.count();
    }

    action host_directed() {
        meta.index = meta.path_id;
        by_policy.count();
    }

    table policy {
        key = {
            meta.group: ternary @name("group");
            meta.kind: ternary @name("kind");
            meta.asked: ternary @name("asked");
            meta.cls: ternary @name("cls");
            meta.comm: ternary @name("comm");
        }
        actions = { ecmp; entropy; at_random; round_robin; host_directed; }
        const default_action = ecmp(0);
        counters = by_policy;
        size = SPRAY_POLICIES;
    }

    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
        meta.forwarded = 1;
        by_group.count();
    }

    // No default action: the target has none for tables with an action profile. A miss leaves `forwarded` at 0.
    table paths {
        key = {
            meta.group: exact @name("group");
            meta.index: selector;
        }
        actions = { forward; }
        implementation = path_selector;
        counters = by_group;
        size = GROUPS;
    }

    apply {
        policy.apply();
        paths.apply();
        if (meta.forwarded == 0) {
            no_path.count((bit<32>)meta.kind);
            mark_to_drop(standard_metadata);
            exit;
        }
        meta.port = standard_metadata.egress_spec[6:0];
    }
}
