// What becomes of a packet for which there is no room: told of, or only counted. A new signal is one action here.
// Words and counters follow SAI's packet trimming. Tofino asks in egress, for what was deflected; Tofino 2 in
// ingress, before the queue. Either mirrors a copy that is cut short, and made_loss.p4 makes the LOSS of it.
control LossSignal(inout headers_t hdr, inout loss_t loss, inout made_t made) {
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) by_signal;
    Counter<bit<64>, bit<9>>(PORTS_BY_KIND, CounterType_t.PACKETS_AND_BYTES) trimmed;
    Counter<bit<64>, bit<9>>(PORTS_BY_KIND, CounterType_t.PACKETS_AND_BYTES) bounced;
    Counter<bit<64>, bit<9>>(PORTS_BY_KIND, CounterType_t.PACKETS_AND_BYTES) congestion_dropped;
    Counter<bit<64>, bit<11>>(PORTS_BY_PATH, CounterType_t.PACKETS_AND_BYTES) path_trimmed;
    Counter<bit<64>, bit<11>>(PORTS_BY_PATH, CounterType_t.PACKETS_AND_BYTES) path_bounced;

    // DATA becomes a LOSS to its receiver, of `size` bytes of the frame at most: what the mirror's session leaves.
    action trim(bit<16> size, bit<6> dscp, bit<3> priority, bit<1> icrc) {
        made.kept = size;
        made.dscp = dscp;
        made.priority = priority;
        made.with_icrc = icrc;
        loss.told = 1;
        loss.to_receiver = 1;
        loss.out_port = loss.port;
        by_signal.count();
    }

    // DATA becomes a LOSS to its sender and leaves where it came from.
    action bounce(bit<16> size, bit<6> dscp, bit<3> priority, bit<1> icrc) {
        made.kept = size;
        made.dscp = dscp;
        made.priority = priority;
        made.with_icrc = icrc;
        made.returned = 1;
        loss.told = 1;
        loss.to_sender = 1;
        loss.out_port = made.back_port;
        by_signal.count();
    }

    // One to each: the copy to the receiver is mirrored once more when it has become one.
    action both(bit<16> size, bit<6> dscp, bit<3> priority, bit<1> icrc) {
        made.kept = size;
        made.dscp = dscp;
        made.priority = priority;
        made.with_icrc = icrc;
        made.both = 1;
        loss.told = 1;
        loss.to_receiver = 1;
        loss.to_sender = 1;
        loss.out_port = loss.port;
        by_signal.count();
    }

    action drop() {
        by_signal.count();
    }

    table signal {
        key = {
            loss.port: exact @name("port");
            loss.kind: ternary @name("kind");
            hdr.csa.flags[3:3]: ternary @name("no_trim");
            hdr.csa.cls: ternary @name("cls");
        }
        actions = { trim; bounce; both; drop; }
        const default_action = drop();
        counters = by_signal;
        size = SIGNALS;
    }

    apply {
        if (loss.kind == KIND_DATA && hdr.csa.type == CSA_TYPE_DATA) {
            signal.apply();   // only DATA is cut
        }
        made.tag = TAG_LOSS;
        made.make = 1;
        if (loss.told == 0) {
            congestion_dropped.count(loss.by_kind);
        }
        if (loss.to_receiver == 1) {
            trimmed.count(loss.by_kind);
            path_trimmed.count(loss.by_path);
        }
        if (loss.to_sender == 1) {
            bounced.count(loss.by_kind);
            path_bounced.count(loss.by_path);
        }
    }
}
