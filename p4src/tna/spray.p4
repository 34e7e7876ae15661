// Which path of the group this packet takes. A spray mode computes an index, whatever it is made of; one action
// selector turns it into a live port, so that a dead port is skipped in every mode alike.
// A new mode is one action here, named in `policy`; what takes more than one step on this chip follows in `apply`.
control Spray(inout headers_t hdr, inout metadata_t meta,
#if __TARGET_TOFINO__ == 2
              in ghost_intrinsic_metadata_t ghost,
#endif
              inout ingress_intrinsic_metadata_for_deparser_t to_deparser,
              inout ingress_intrinsic_metadata_for_tm_t to_tm) {
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) by_policy;
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) by_bucket;
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) by_group;
    Counter<bit<64>, bit<2>>(4, CounterType_t.PACKETS_AND_BYTES) no_path;
    Register<bit<16>, bit<10>>(GROUPS) turns;        // next turn of round robin and weighted, per group
    Register<bit<32>, bit<12>>(FLOWLETS) arrivals;   // per flow: until when its last packet holds the path
    Register<bit<16>, bit<12>>(FLOWLETS) flowlets;   // ... and the index of the flowlet it belonged to
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) as_it_is;
    Hash<bit<9>>(HashAlgorithm_t.IDENTITY) port_and_kind;
    Hash<bit<11>>(HashAlgorithm_t.IDENTITY) port_and_path;
    Hash<bit<16>>(HashAlgorithm_t.CUSTOM, FOLDING_CRC) fold;
    Random<bit<16>>() draw;
    ActionProfile(MEMBERS) path_selector;
    ActionSelector(path_selector, as_it_is, SelectorMode_t.FAIR, PATHS_PER_GROUP, GROUPS) path_groups;

    RegisterAction<bit<16>, bit<10>, bit<16>>(turns) take_turn = {
        void apply(inout bit<16> turn, out bit<16> taken) {
            taken = turn;
            turn = turn + 1;
        }
    };

    // Later than the last packet of the flow allowed for? Once in 18 minutes the clock's 32 bits begin anew, and a
    // flow may keep its path over one pause.
    RegisterAction<bit<32>, bit<12>, bit<1>>(arrivals) arrive = {
        void apply(inout bit<32> until, out bit<1> fresh) {
            fresh = 0;
            if (until < meta.now) {
                fresh = 1;
            }
            until = meta.expiry;
        }
    };

    RegisterAction<bit<16>, bit<12>, bit<16>>(flowlets) begin_flowlet = {
        void apply(inout bit<16> present, out bit<16> index) {
            present = meta.index;
            index = present;
        }
    };

    RegisterAction<bit<16>, bit<12>, bit<16>>(flowlets) continue_flowlet = {
        void apply(inout bit<16> present, out bit<16> index) {
            index = present;
        }
    };

    // The 5-tuple decides: what fabrics without this program do.
    action ecmp(bit<32> seed) {
        meta.hashed = 1;
        meta.hash_b = meta.hash_b ^ seed;
        by_policy.count();
    }

    // The sender's path_id is part of the hash: packets of one path_id stay in order, and the sender chooses.
    action entropy(bit<32> seed) {
        meta.hashed = 1;
        meta.hash_a = meta.path_hash_a;
        meta.hash_b = meta.path_hash_b ^ seed;
        by_policy.count();
    }

    @name("random") action at_random() {
        meta.index = draw.get();
        by_policy.count();
    }

    action round_robin() {
        meta.index = take_turn.execute(meta.group[9:0]);
        by_policy.count();
    }

    action host_directed() {
        meta.index = meta.path_id;
        by_policy.count();
    }

    // Like round robin, but the turn is looked up in the group's 64 buckets, whose shares are the weights.
    action weighted() {
        meta.index = take_turn.execute(meta.group[9:0]);
        meta.weighted = 1;
        by_policy.count();
    }

    // A flow keeps its path until it pauses for longer than `gap` (units of 256 ns): by then what it sent before has
    // arrived on any path, so that a new one reorders nothing.
    action flowlet(bit<32> gap) {
        meta.index = draw.get();
        meta.expiry = meta.now |+| gap;   // not beyond the clock's end: all of what follows would be later
        meta.flowlet = 1;
        by_policy.count();
    }

#if __TARGET_TOFINO__ == 2
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) by_second_choice;
    Random<bit<16>>() second_draw;
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) second_as_it_is;
    ActionProfile(MEMBERS) alternative_selector;
    ActionSelector(alternative_selector, second_as_it_is, SelectorMode_t.FAIR, PATHS_PER_GROUP, GROUPS)
        alternative_groups;
    FirstDepth() first_depth;
    SecondDepth() second_depth;

    action draw_second() {
        meta.second_index = second_draw.get();
    }

    action compare() {
        meta.room = meta.depth |-| meta.second_depth;
    }

    // The better of two at random: nearly as good as the best of all, and no herd runs to one port.
    action least_queue() {
        meta.index = draw.get();
        meta.two_choices = 1;
        by_policy.count();
    }
#endif

    table policy {
        key = {
            meta.group: ternary @name("group");
            meta.kind: ternary @name("kind");
            meta.asked: ternary @name("asked");
            meta.cls: ternary @name("cls");
            meta.comm: ternary @name("comm");
        }
        actions = {
            ecmp; entropy; at_random; round_robin; host_directed; weighted; flowlet;
#if __TARGET_TOFINO__ == 2
            least_queue;
#endif
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
        size = ROOM_FOR_BUCKETS;
    }

#if __TARGET_TOFINO__ == 2
    // `queue` is the port's queue of DATA as the ghost thread knows it.
    action forward(bit<9> port, bit<11> queue) {
        to_tm.ucast_egress_port = port;
        meta.queue = queue;
        meta.forwarded = 1;
        by_group.count();
    }

    action forward_alternative(bit<9> port, bit<11> queue) {
        meta.second_found = 1;
        meta.second_port = port;
        meta.second_queue = queue;
        by_second_choice.count();
    }

    // The same groups once more, for the second of two choices: a table is looked up once in a packet's life.
    table alternative {
        key = {
            meta.group: exact @name("group");
            meta.second_index: selector;
        }
        actions = { forward_alternative; }
        implementation = alternative_groups;
        counters = by_second_choice;
        size = GROUPS;
    }
#else
    action forward(bit<9> port) {
        to_tm.ucast_egress_port = port;
        meta.bridged.egress_port = port;
        meta.forwarded = 1;
        by_group.count();
    }
#endif

    table paths {
        key = {
            meta.group: exact @name("group");
            meta.index: selector;
        }
        actions = { forward; }
        implementation = path_groups;
        counters = by_group;
        size = GROUPS;
    }

    apply {
        policy.apply();
        if (meta.hashed == 1) {
            meta.mixed = meta.hash_a + meta.hash_b;
            meta.index = fold.get({ meta.mixed });
        } else if (meta.weighted == 1) {
            meta.bucket = meta.index[5:0];
            buckets.apply();
        } else if (meta.flowlet == 1) {
            meta.fresh = arrive.execute(meta.slot);
            if (meta.fresh == 1) {
                meta.index = begin_flowlet.execute(meta.slot);
            } else {
                meta.index = continue_flowlet.execute(meta.slot);
            }
        }
        paths.apply();
#if __TARGET_TOFINO__ == 2
        first_depth.apply(meta, ghost);
        if (meta.two_choices == 1) {
            draw_second();
            alternative.apply();
            second_depth.apply(meta, ghost);
            compare();
            if (meta.second_found == 1 && meta.room != 0) {   // there is a second, and fewer wait for it
                to_tm.ucast_egress_port = meta.second_port;
                meta.depth = meta.second_depth;
            }
        }
#endif
        if (meta.forwarded == 0) {
            no_path.count(meta.kind);
            to_deparser.drop_ctl = 1;
        } else {
            meta.loss.port = to_tm.ucast_egress_port;
            meta.loss.by_kind = port_and_kind.get({ to_tm.ucast_egress_port[6:0], meta.kind });
            meta.loss.by_path = port_and_path.get({ to_tm.ucast_egress_port[6:0], meta.path_id[3:0] });
        }
    }
}
