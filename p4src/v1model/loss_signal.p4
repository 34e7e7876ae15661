// What becomes of a packet for which there is no room: told of, or only counted. A new signal is one action here.
// Words and counters follow SAI's packet trimming.
control LossSignal(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) by_signal;
    direct_counter(CounterType.packets_and_bytes) by_return;
    counter(PORTS_BY_KIND, CounterType.packets_and_bytes) trimmed;
    counter(PORTS_BY_KIND, CounterType.packets_and_bytes) bounced;
    @name("both") counter(PORTS_BY_KIND, CounterType.packets_and_bytes) counted_twice;   // in trimmed and in bounced
    counter(PORTS_BY_KIND, CounterType.packets_and_bytes) congestion_dropped;
    counter(PORTS_BY_PATH, CounterType.packets_and_bytes) path_trimmed;
    counter(PORTS_BY_PATH, CounterType.packets_and_bytes) path_bounced;
    // LOSS made here, by the port whose queue took it or had no room.
    counter(PORTS, CounterType.packets_and_bytes) trim_sent;
    counter(PORTS, CounterType.packets_and_bytes) trim_dropped;
    counter(PORTS, CounterType.packets_and_bytes) bounce_sent;
    counter(PORTS, CounterType.packets_and_bytes) bounce_dropped;

    // `size` bytes of the frame are kept, at least its headers and never its iCRC, which is wrong by then. The second
    // form is the headers alone and an iCRC of its own.
    action keep(in bit<16> size, in bit<6> dscp, in bit<3> priority, in bit<1> icrc) {
        bit<16> whole = (bit<16>)standard_metadata.packet_length;
        bit<16> stated = hdr.udp.length + meta.udp_at;
        bit<16> headers = meta.udp_at + UDP_LENGTH_OF_LOSS;
        whole = whole < stated ? whole : stated;    // what Ethernet may have padded is not of the packet
        whole = whole |-| LENGTH_OF_ICRC;
        whole = size < whole ? size : whole;
        whole = whole < headers ? headers : whole;
        meta.kept = icrc == 1 ? headers + LENGTH_OF_ICRC : whole;
        meta.loss_dscp = dscp;
        meta.loss_priority = priority;
        meta.with_icrc = icrc;
    }

    // DATA becomes a LOSS to its receiver.
    action trim(bit<16> size, bit<6> dscp, bit<3> priority, bit<1> icrc) {
        keep(size, dscp, priority, icrc);
        meta.told = 1;
        trimmed.count((bit<32>)(meta.port ++ meta.kind));
        path_trimmed.count((bit<32>)(meta.port ++ meta.path_id[3:0]));
        by_signal.count();
    }

    // DATA becomes a LOSS to its sender and leaves where it came from.
    action bounce(bit<16> size, bit<6> dscp, bit<3> priority, bit<1> icrc) {
        keep(size, dscp, priority, icrc);
        meta.told = 1;
        meta.returned = 1;
        bounced.count((bit<32>)(meta.port ++ meta.kind));
        path_bounced.count((bit<32>)(meta.port ++ meta.path_id[3:0]));
        by_signal.count();
    }

    // One to each: a clone of the packet, made a LOSS in egress, comes round again and is routed to the sender.
    action both(bit<16> size, bit<6> dscp, bit<3> priority, bit<1> icrc) {
        keep(size, dscp, priority, icrc);
        meta.told = 1;
        clone_preserving_field_list(CloneType.I2E, BOUNCE_SESSION, KEPT_BY_CLONES);
        counted_twice.count((bit<32>)(meta.port ++ meta.kind));
        trimmed.count((bit<32>)(meta.port ++ meta.kind));
        path_trimmed.count((bit<32>)(meta.port ++ meta.path_id[3:0]));
        bounced.count((bit<32>)(meta.port ++ meta.kind));
        path_bounced.count((bit<32>)(meta.port ++ meta.path_id[3:0]));
        by_signal.count();
    }

    action drop() {
        by_signal.count();
    }

    table signal {
        key = {
            standard_metadata.egress_spec: exact @name("port");
            meta.kind: ternary @name("kind");
            meta.no_trim: ternary @name("no_trim");
            meta.cls: ternary @name("cls");
        }
        actions = { trim; bounce; both; drop; }
        const default_action = drop();
        counters = by_signal;
        size = SIGNALS;
    }

    // Limits of the port that a bounced packet came in by: those of its entry in `congestion.limits`.
    action set_return_limits(bit<16> trim_at, bit<16> drop_at, bit<16> alarm_at, bit<32> loss_byte_time) {
        meta.trim_at = trim_at;
        meta.drop_at = drop_at;
        meta.alarm_at = alarm_at;
        meta.loss_byte_time = loss_byte_time;
        by_return.count();
    }

    table return_limits {
        key = { standard_metadata.ingress_port: exact @name("port"); }
        actions = { set_return_limits; }
        const default_action = set_return_limits(0xFFFF, 0xFFFF, 0xFFFF, 0);
        counters = by_return;
        size = PORTS;
    }

    action drop_for_congestion() {
        congestion_dropped.count((bit<32>)(meta.port ++ meta.kind));
        mark_to_drop(standard_metadata);
    }

    // Out of the port of ingress; it is that port's shadow that counts it.
    action return_to_sender() {
        turn_back(hdr);
        standard_metadata.egress_spec = standard_metadata.ingress_port;
        meta.port = standard_metadata.ingress_port[6:0];
        meta.shadow = 1w0 ++ meta.port;
    }

    action send_loss() {
        make_loss(hdr, meta.kept, meta.udp_at, meta.loss_dscp, meta.with_icrc);
        meta.kind = KIND_LOSS;
        standard_metadata.priority = meta.loss_priority;
        truncate((bit<32>)meta.kept);
    }

    apply {
        if (standard_metadata.instance_type == INSTANCE_RECIRCULATED) {
            // The LOSS to the sender, on its way from the clone; the target forgets the length it was cut to.
            truncate((bit<32>)(hdr.udp.length + meta.udp_at));
            if (meta.admitted == 1) {
                bounce_sent.count((bit<32>)meta.port);
            } else {
                bounce_dropped.count((bit<32>)meta.port);
                mark_to_drop(standard_metadata);
            }
        } else if (meta.admitted == 0) {
            if (meta.kind == KIND_DATA && hdr.csa.type == CSA_TYPE_DATA) {
                signal.apply();
            }
            if (meta.told == 0) {
                drop_for_congestion();   // as the entry says; and only DATA is cut
            } else {
                if (meta.returned == 1) {
                    return_to_sender();
                    return_limits.apply();
                }
                send_loss();
                ask_share(meta.port, meta.loss_byte_time, meta.now, meta.in_share);
                meta.limit = meta.drop_at;
                if (meta.in_share == 0) {
                    meta.limit = meta.trim_at;
                    standard_metadata.priority = PRIORITY_DATA;
                }
                claim_room(meta.shadow, meta.limit, meta.drop_at, meta.depth, meta.waiting, meta.counted);
                if (meta.counted == 1) {
                    if (meta.returned == 1) {
                        bounce_sent.count((bit<32>)meta.port);
                    } else {
                        trim_sent.count((bit<32>)meta.port);
                    }
                } else {
                    if (meta.returned == 1) {
                        bounce_dropped.count((bit<32>)meta.port);
                    } else {
                        trim_dropped.count((bit<32>)meta.port);
                    }
                    mark_to_drop(standard_metadata);
                }
            }
        }
    }
}
