// Tofino 2: is there room for the packet at its port: the depth of its queue, which the ghost thread knows, against
// the port's limits. And the alarm, which says that the depth came near the queue's end, where packets would be lost
// unseen.
control Congestion(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_for_tm_t to_tm,
                   inout ingress_intrinsic_metadata_for_deparser_t to_deparser) {
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) by_port;
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) by_alarm;
    Counter<bit<64>, bit<11>>(PORTS_BY_PATH, CounterType_t.PACKETS_AND_BYTES) overflow;
    Register<bit<32>, bit<7>>(PORTS) next_alarm;   // when the port may raise the next one, units of 256 ns

    // Due, or set by a clock that has begun anew since.
    RegisterAction<bit<32>, bit<7>, bit<1>>(next_alarm) raise = {
        void apply(inout bit<32> next, out bit<1> due) {
            due = 0;
            if (next <= meta.now || next > meta.due) {
                due = 1;
                next = meta.due;
            }
        }
    };

    // In cells: ordinary DATA is cut at trim_at, DATA that asks not to be at no_trim_at, other traffic is dropped
    // at other_at of its own queue, everything else at drop_at; from alarm_at on what is admitted raises the alarm.
    // How far each is from there is computed for all of them at once: the right one is chosen a step later.
    action set_limits(bit<16> trim_at, bit<16> no_trim_at, bit<16> other_at, bit<16> drop_at, bit<16> alarm_at) {
        meta.trim_room = trim_at |-| meta.depth;
        meta.no_trim_room = no_trim_at |-| meta.depth;
        meta.other_room = other_at |-| meta.depth;
        meta.drop_room = drop_at |-| meta.depth;
        meta.calm = alarm_at |-| meta.depth;
        meta.bridged.alarm_at = alarm_at;
        by_port.count();
    }

    table limits {
        key = { to_tm.ucast_egress_port: exact @name("port"); }
        actions = { set_limits; }
        const default_action = set_limits(0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF);
        counters = by_port;
        size = PORTS;
    }

    // Tell the controller of an overflow, at most once in so many units of 256 ns per port.
    action report(bit<32> interval) {
        meta.due = meta.now |+| interval;   // not beyond the clock's end: all of what follows would be due
        meta.alarm_wanted = 1;
        by_alarm.count();
    }

    action count_only() {
        by_alarm.count();
    }

    table alarm {
        key = { to_tm.ucast_egress_port: exact @name("port"); }
        actions = { report; count_only; }
        const default_action = count_only();
        counters = by_alarm;
        size = PORTS;
    }

    apply {
        meta.alarm.port = (bit<16>)to_tm.ucast_egress_port;
        meta.alarm.depth = meta.depth;
        meta.alarm.path_id = meta.path_id;
        meta.alarm.kind = (bit<8>)meta.kind;
        limits.apply();
        if (meta.kind == KIND_DATA) {
            if (hdr.csa.flags & CSA_FLAG_NO_TRIM != 0) {
                meta.room = meta.no_trim_room;
            } else {
                meta.room = meta.trim_room;
            }
        } else if (meta.kind == 0) {
            meta.room = meta.other_room;
        } else {
            meta.room = meta.drop_room;
        }
        if (meta.room == 0) {
            meta.no_room = 1;
        } else if (meta.calm == 0) {
            overflow.count(meta.loss.by_path);
            alarm.apply();
            if (meta.alarm_wanted == 1) {
                meta.alarm_due = raise.execute(to_tm.ucast_egress_port[6:0]);
            }
            if (meta.alarm_due == 1) {
                to_deparser.digest_type = DIGEST_ALARM;
            }
        }
    }
}

// The egress half: what the traffic manager itself says of the queue that the packet joined.
control Departure(inout headers_t hdr, inout egress_metadata_t meta) {
    Counter<bit<64>, bit<11>>(PORTS_BY_PATH, CounterType_t.PACKETS_AND_BYTES) overflow_egress;

    action compare() {
        meta.calm = meta.bridged.alarm_at |-| meta.depth;
    }

    apply {
        compare();
        if (meta.calm == 0) {
            overflow_egress.count(meta.by_path);
        }
    }
}
