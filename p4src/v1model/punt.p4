// Frames that are for the controller: link probes, by EtherType and port. From each port no more than the controller
// expects, so that nobody keeps it busy.
control Punt(inout headers_t hdr, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) by_ether_type;
    counter(PORTS, CounterType.packets_and_bytes) held_back;
    register<bit<48>>(PORTS) next_punt;   // when the port may send the controller another one, microseconds
    bit<48> gap = 0;

    // At most one in `gap_us` microseconds.
    action to_cpu(bit<48> gap_us) {
        gap = gap_us;
        by_ether_type.count();
    }

    action pass() {
        by_ether_type.count();
    }

    table ether_type {
        key = {
            hdr.ethernet.ether_type: exact;
            standard_metadata.ingress_port: exact @name("port");
        }
        actions = { to_cpu; pass; }
        const default_action = pass();
        counters = by_ether_type;
        size = PUNTS;
    }

    apply {
        switch (ether_type.apply().action_run) {
            to_cpu: {
                bit<48> due;
                next_punt.read(due, (bit<32>)standard_metadata.ingress_port[6:0]);
                if (standard_metadata.ingress_global_timestamp >= due) {
                    next_punt.write((bit<32>)standard_metadata.ingress_port[6:0],
                        standard_metadata.ingress_global_timestamp + gap);
                    hdr.packet_in.setValid();
                    hdr.packet_in.ingress_port = standard_metadata.ingress_port;
                    hdr.packet_in.pad = 0;
                    standard_metadata.egress_spec = CPU_PORT;
                } else {
                    held_back.count((bit<32>)standard_metadata.ingress_port[6:0]);
                    mark_to_drop(standard_metadata);
                }
                exit;
            }
        }
    }
}
