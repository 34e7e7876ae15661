// Tofino: there is no depth to be seen before the queue. The traffic manager itself finds that there is no room, by
// the limits of its queues and by the packet's colour, and deflects what it would drop to the port that its
// configuration names; there egress makes the loss known. What egress adds is the alarm.

// Ordinary DATA finds the queue full first, DATA that asks not to be cut later, everything else last.
control Congestion(inout headers_t hdr, inout metadata_t meta, inout ingress_intrinsic_metadata_for_tm_t to_tm) {
    apply {
        to_tm.deflect_on_drop = 1;
        if (meta.kind == KIND_DATA) {
            if (hdr.csa.flags & CSA_FLAG_NO_TRIM != 0) {
                to_tm.packet_color = 1;   // yellow
            } else {
                to_tm.packet_color = 3;   // red
            }
        }
    }
}

// The egress half: was the queue near its end when this packet joined it, and is it time to say so?
control Departure(inout headers_t hdr, inout egress_metadata_t meta) {
    Counter<bit<64>, bit<11>>(PORTS_BY_PATH, CounterType_t.PACKETS_AND_BYTES) overflow_egress;

    apply {
        if (meta.calm == 0) {
            overflow_egress.count(meta.by_path);
        }
    }
}

control Alarm(inout headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t intrinsic,
              inout egress_intrinsic_metadata_for_deparser_t to_deparser) {
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) by_port;
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) by_alarm;
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

    // In cells of the queue's depth.
    action set_limits(bit<16> alarm_at) {
        meta.alarm_at = alarm_at;
        by_port.count();
    }

    table limits {
        key = { intrinsic.egress_port: exact @name("port"); }
        actions = { set_limits; }
        const default_action = set_limits(0xFFFF);
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
        key = { intrinsic.egress_port: exact @name("port"); }
        actions = { report; count_only; }
        const default_action = count_only();
        counters = by_alarm;
        size = PORTS;
    }

    // A step of its own: a condition takes no arithmetic.
    action compare() {
        meta.calm = meta.alarm_at |-| meta.depth;
    }

    apply {
        limits.apply();
        compare();
        if (meta.calm == 0) {
            alarm.apply();
            if (meta.alarm_wanted == 1) {
                meta.alarm_due = raise.execute(intrinsic.egress_port[6:0]);
            }
            if (meta.alarm_due == 1) {
                meta.alarm.tag = TAG_ALARM;
                meta.alarm.kind = (bit<8>)meta.kind;
                meta.alarm.port = (bit<16>)intrinsic.egress_port;
                meta.alarm.depth = meta.depth;
                meta.alarm.path_id = meta.path_id;
                meta.session = ALARM_SESSION;
                to_deparser.mirror_type = MIRROR_ALARM;
            }
        }
    }
}
