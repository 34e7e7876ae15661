// Is there room for the packet at its port: the occupancy shadows against the port's limits.

struct overflow_alarm_t {
    bit<16> port;
    bit<16> depth;      // packets in the port's shadows, this one excluded
    bit<16> path_id;
    bit<8> kind;
    bit<48> at_us;      // the switch's clock
}

control Congestion(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) by_port;

    // In packets: ordinary DATA is cut at trim_at, DATA that asks not to be at no_trim_at, other traffic is dropped
    // at other_at of its own; everything is at drop_at of all; from alarm_at on what is admitted raises the alarm.
    // LOSS that goes beyond its share of the link, in which a byte takes loss_byte_time (2^-16 microseconds, 0: no
    // bound), has DATA's queue and DATA's limit.
    action set_limits(bit<16> trim_at, bit<16> no_trim_at, bit<16> other_at, bit<16> drop_at, bit<16> alarm_at,
                      bit<32> loss_byte_time) {
        meta.trim_at = trim_at;
        meta.no_trim_at = no_trim_at;
        meta.drop_at = drop_at;
        meta.alarm_at = alarm_at;
        meta.other_at = other_at;
        meta.loss_byte_time = loss_byte_time;
        by_port.count();
    }

    table limits {
        key = { standard_metadata.egress_spec: exact @name("port"); }
        actions = { set_limits; }
        const default_action = set_limits(0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0);
        counters = by_port;
        size = PORTS;
    }

    apply {
        limits.apply();
        meta.limit = meta.drop_at;
        meta.shadow = 1w0 ++ meta.port;
        if (meta.kind == KIND_DATA) {
            meta.limit = meta.no_trim == 1 ? meta.no_trim_at : meta.trim_at;
        } else if (meta.kind == KIND_LOSS) {
            ask_share(meta.port, meta.loss_byte_time, meta.now, meta.in_share);
            if (meta.in_share == 0) {
                meta.limit = meta.trim_at;
                standard_metadata.priority = PRIORITY_DATA;
            }
        } else if (meta.kind == 0) {
            meta.limit = meta.other_at;
            meta.shadow = 1w1 ++ meta.port;
        }
        if (meta.lost == 0) {
            claim_room(meta.shadow, meta.limit, meta.drop_at, meta.depth, meta.waiting, meta.admitted);
            meta.counted = meta.admitted;
        }
    }
}

// What joins a queue, LOSS made here, too: LOSS takes of its share only then. And the alarm, which says that the shadow
// came near the real queue's end, where packets would be lost unseen. Names are those of `congestion`, whose matter it is.
control Arrival(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    @name(".CsaudIngress.congestion.by_alarm")
    direct_counter(CounterType.packets_and_bytes) by_alarm;
    @name(".CsaudIngress.congestion.overflow")
    counter(PORTS_BY_PATH, CounterType.packets_and_bytes) overflow;
    @name(".CsaudIngress.congestion.next_alarm")
    register<bit<48>>(PORTS) next_alarm;   // when the port may raise the next one, microseconds

    // Tell the controller of an overflow, at most once in so many microseconds per port.
    @name(".CsaudIngress.congestion.report")
    action report(bit<48> interval_us) {
        meta.alarm_interval = interval_us;
        meta.alarm_wanted = 1;
        by_alarm.count();
    }

    @name(".CsaudIngress.congestion.count_only")
    action count_only() {
        by_alarm.count();
    }

    @name(".CsaudIngress.congestion.alarm")
    table alarm {
        key = { standard_metadata.egress_spec: exact @name("port"); }
        actions = { report; count_only; }
        const default_action = count_only();
        counters = by_alarm;
        size = PORTS;
    }

    apply {
        if (meta.counted == 1) {
            if (meta.in_share == 1) {
                // What comes round is not yet cut to what it keeps.
                bit<16> octets = meta.kept == 0 ? (bit<16>)standard_metadata.packet_length : meta.kept;
                take_share(meta.port, octets, meta.loss_byte_time, meta.now);
            }
            if (meta.waiting >= meta.alarm_at) {
                overflow.count((bit<32>)(meta.port ++ meta.path_id[3:0]));
                alarm.apply();
                if (meta.alarm_wanted == 1) {
                    bit<48> due;
                    next_alarm.read(due, (bit<32>)meta.port);
                    if (meta.now >= due) {
                        next_alarm.write((bit<32>)meta.port, meta.now + meta.alarm_interval);
                        digest<overflow_alarm_t>(1, { (bit<16>)standard_metadata.egress_spec, meta.waiting, meta.path_id,
                            (bit<8>)meta.kind, meta.now });
                    }
                }
            }
        }
    }
}

// The egress half: this packet has left the queue.
control Departure(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(PORTS_BY_PATH, CounterType.packets_and_bytes) overflow_egress;

    action release() {
        bit<16> depth;
        occupancy.read(depth, (bit<32>)meta.shadow);
        occupancy.write((bit<32>)meta.shadow, depth |-| 1);
    }

    apply {
        if (meta.counted == 1) {
            release();
            // What the target itself says of the queue that the packet joined, where it says anything.
            if (standard_metadata.enq_qdepth >= (bit<19>)meta.alarm_at) {
                overflow_egress.count((bit<32>)(meta.port ++ meta.path_id[3:0]));
            }
        }
    }
}
