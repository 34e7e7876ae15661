// How much waits for a port, known before the queue: the ghost thread of Tofino 2 writes the depth of each queue of
// the traffic manager as it changes. Tofino has no such thread; there the depth is known behind the queue only.
// A port has 16 queues, of which the packet's own counts: other traffic has another than DATA.
// Two versions take turns, one being written while the other is read. And all of it twice, because a register is
// read once in a packet's life and the least queue is a matter of two.
Register<bit<16>, bit<11>>(2048) first_ping;
Register<bit<16>, bit<11>>(2048) first_pong;
Register<bit<16>, bit<11>>(2048) second_ping;
Register<bit<16>, bit<11>>(2048) second_pong;

control Occupancy(in ghost_intrinsic_metadata_t ghost) {
    RegisterAction<bit<16>, bit<11>, bit<16>>(first_ping) write_first_ping = {
        void apply(inout bit<16> depth) { depth = (bit<16>)ghost.qlength; }
    };
    RegisterAction<bit<16>, bit<11>, bit<16>>(first_pong) write_first_pong = {
        void apply(inout bit<16> depth) { depth = (bit<16>)ghost.qlength; }
    };
    RegisterAction<bit<16>, bit<11>, bit<16>>(second_ping) write_second_ping = {
        void apply(inout bit<16> depth) { depth = (bit<16>)ghost.qlength; }
    };
    RegisterAction<bit<16>, bit<11>, bit<16>>(second_pong) write_second_pong = {
        void apply(inout bit<16> depth) { depth = (bit<16>)ghost.qlength; }
    };

    apply {
        if (ghost.ping_pong == 1) {
            write_first_ping.execute(ghost.qid);
            write_second_ping.execute(ghost.qid);
        } else {
            write_first_pong.execute(ghost.qid);
            write_second_pong.execute(ghost.qid);
        }
    }
}

control FirstDepth(inout metadata_t meta, in ghost_intrinsic_metadata_t ghost) {
    Hash<bit<11>>(HashAlgorithm_t.IDENTITY) ping_queue;
    Hash<bit<11>>(HashAlgorithm_t.IDENTITY) pong_queue;

    RegisterAction<bit<16>, bit<11>, bit<16>>(first_ping) read_ping = {
        void apply(inout bit<16> depth, out bit<16> seen) { seen = depth; }
    };
    RegisterAction<bit<16>, bit<11>, bit<16>>(first_pong) read_pong = {
        void apply(inout bit<16> depth, out bit<16> seen) { seen = depth; }
    };

    apply {
        if (ghost.ping_pong == 0) {
            meta.depth = read_ping.execute(ping_queue.get({ meta.queue[10:4], meta.own_queue }));
        } else {
            meta.depth = read_pong.execute(pong_queue.get({ meta.queue[10:4], meta.own_queue }));
        }
    }
}

control SecondDepth(inout metadata_t meta, in ghost_intrinsic_metadata_t ghost) {
    Hash<bit<11>>(HashAlgorithm_t.IDENTITY) ping_queue;
    Hash<bit<11>>(HashAlgorithm_t.IDENTITY) pong_queue;

    RegisterAction<bit<16>, bit<11>, bit<16>>(second_ping) read_ping = {
        void apply(inout bit<16> depth, out bit<16> seen) { seen = depth; }
    };
    RegisterAction<bit<16>, bit<11>, bit<16>>(second_pong) read_pong = {
        void apply(inout bit<16> depth, out bit<16> seen) { seen = depth; }
    };

    apply {
        if (ghost.ping_pong == 0) {
            meta.second_depth = read_ping.execute(ping_queue.get({ meta.second_queue[10:4], meta.own_queue }));
        } else {
            meta.second_depth = read_pong.execute(pong_queue.get({ meta.second_queue[10:4], meta.own_queue }));
        }
    }
}
