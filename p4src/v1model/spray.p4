// Which path of the group this packet takes. A spray mode computes an index, whatever it is made of; one action
// selector turns it into a live port, so that a dead port is skipped in every mode alike.
// A new mode is one action here, named in `policy`; two of them have a table of their own besides.
control Spray(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) by_policy;
    direct_counter(CounterType.packets_and_bytes) by_bucket;
    direct_counter(CounterType.packets_and_bytes) by_group;
    direct_counter(CounterType.packets_and_bytes) by_second_choice;
    counter(4, CounterType.packets_and_bytes) no_path;
    register<bit<32>>(GROUPS) draws;   // packets sprayed at random so far, per group
    register<bit<16>>(GROUPS) turns;   // next turn of round robin and weighted, per group
    register<bit<48>>(FLOWLETS) arrivals;   // per flow: when its last packet came, microseconds, plus 1; 0 is never
    register<bit<16>>(FLOWLETS) flowlets;   // ... and the index of the flowlet it belonged to
    action_selector(HashAlgorithm.identity, MEMBERS, 16) path_selector;
    action_selector(HashAlgorithm.identity, MEMBERS, 16) second_selector;   // the same groups once more

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

    // The same where the tiers below have chosen by path_id, too: the quotient, which they left. `reciprocal` is 65,536
    // divided by the choices of a path_id down there, rounded up; so the quotient is exact while path_id is below
    // 65,536 divided by them, and for powers of two always.
    action host_directed_above(bit<32> reciprocal) {
        meta.index = (bit<16>)(((bit<32>)meta.path_id * reciprocal) >> 16);
        by_policy.count();
    }

    // Like round robin, but the turn is looked up in the group's 64 buckets, whose shares are the weights.
    action weighted() {
        turns.read(meta.index, (bit<32>)meta.group[9:0]);
        turns.write((bit<32>)meta.group[9:0], meta.index + 1);
        meta.bucket = meta.index[5:0];
        meta.weighted = 1;
        by_policy.count();
    }

    // The better of two at random: nearly as good as the best of all, and no herd runs to one port.
    action least_queue(bit<32> seed) {
        bit<32> n;
        bit<32> value;
        draws.read(n, (bit<32>)meta.group[9:0]);
        draws.write((bit<32>)meta.group[9:0], n + 1);
        draw(seed, n, value);
        meta.index = value[31:16];
        meta.second_index = value[15:0];
        meta.two_choices = 1;
        by_policy.count();
    }

    // A flow keeps its path until it pauses for longer than `gap` microseconds: by then what it sent before has
    // arrived on any path, so that a new one reorders nothing.
    action flowlet(bit<32> seed, bit<48> gap) {
        // The source port of a CSA packet spells its path_id, not its flow.
        bit<16> source = hdr.csa.isValid() ? 16w0 : meta.l4_src;
        bit<16> slot;
        hash(slot, HashAlgorithm.crc32, (bit<16>)0,
             { meta.route_key, meta.src_key, meta.protocol, meta.l4_dst, source }, (bit<32>)FLOWLETS);
        bit<48> last;
        bit<16> present;
        arrivals.read(last, (bit<32>)slot);
        flowlets.read(present, (bit<32>)slot);
        bit<48> now = meta.now + 1;
        bit<1> fresh = (last == 0 || now - last > gap) ? 1w1 : 1w0;
        bit<32> n;
        bit<32> value;
        draws.read(n, (bit<32>)meta.group[9:0]);
        draws.write((bit<32>)meta.group[9:0], n + (bit<32>)fresh);
        draw(seed, n, value);
        meta.index = fresh == 1 ? value[31:16] : present;
        arrivals.write((bit<32>)slot, now);
        flowlets.write((bit<32>)slot, meta.index);
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
        actions = {
            ecmp; entropy; at_random; round_robin; host_directed; host_directed_above; weighted; least_queue; flowlet;
        }
        const default_action = ecmp(0);
        counters = by_policy;
        size = SPRAY_POLICIES;
    }

    action set_index(bit<16> index) {
        meta.index = index;
        by_bucket.count();
    }

    // A bucket that is not there: the turn itself is the index, so buckets can be installed one by one.
    action keep_turn() {
        by_bucket.count();
    }

    table buckets {
        key = {
            meta.group: exact @name("group");
            meta.bucket: exact @name("bucket");
        }
        actions = { set_index; keep_turn; }
        const default_action = keep_turn();
        counters = by_bucket;
        size = BUCKETS;
    }

    // It counts nothing itself, because two tables use it; their direct counters count their hits all the same.
    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
        meta.forwarded = 1;
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

    // Where the second of two choices leads: a table is looked up once in a packet's life. Its selector is its own,
    // because simple_switch ends when two tables with one selector share an action (p4c gives each a copy of it).
    table alternative {
        key = {
            meta.group: exact @name("group");
            meta.second_index: selector;
        }
        actions = { forward; }
        implementation = second_selector;
        counters = by_second_choice;
        size = GROUPS;
    }

    // Back to the first choice, unless fewer packets wait for the second.
    action shorter_queue() {
        bit<16> first;
        bit<16> second;
        bit<16> others;
        occupancy.read(first, (bit<32>)(1w0 ++ meta.first_port[6:0]));
        occupancy.read(others, (bit<32>)(1w1 ++ meta.first_port[6:0]));
        first = first |+| others;
        occupancy.read(second, (bit<32>)(1w0 ++ standard_metadata.egress_spec[6:0]));
        occupancy.read(others, (bit<32>)(1w1 ++ standard_metadata.egress_spec[6:0]));
        second = second |+| others;
        standard_metadata.egress_spec = second < first ? standard_metadata.egress_spec : meta.first_port;
    }

    // The modes hash 32 bits of an address: of IPv6's a hash. Not a sum of its words, since those of a rack and a host
    // are often alike.
    action fold_addresses() {
        hash(meta.route_key, HashAlgorithm.crc32, (bit<32>)0, { meta.route_key6 }, 64w0x100000000);
        hash(meta.src_key, HashAlgorithm.crc32, (bit<32>)0, { meta.src_key6 }, 64w0x100000000);
    }

    apply {
        if (hdr.ipv6.isValid()) {
            fold_addresses();
        }
        policy.apply();
        if (meta.weighted == 1) {
            buckets.apply();
        }
        paths.apply();
        if (meta.two_choices == 1 && meta.forwarded == 1) {
            meta.first_port = standard_metadata.egress_spec;
            alternative.apply();
            shorter_queue();
        }
        if (meta.forwarded == 0) {
            no_path.count((bit<32>)meta.kind);
            mark_to_drop(standard_metadata);
            exit;
        }
        meta.port = standard_metadata.egress_spec[6:0];
    }
}
