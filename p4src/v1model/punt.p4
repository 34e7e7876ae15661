// Frames that are for the controller: link probes by their EtherType.
control Punt(inout headers_t hdr, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) by_ether_type;

    action to_cpu() {
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = standard_metadata.ingress_port;
        hdr.packet_in.pad = 0;
        standard_metadata.egress_spec = CPU_PORT;
        by_ether_type.count();
    }

    action pass() {
        by_ether_type.count();
    }

    table ether_type {
        key = { hdr.ethernet.ether_type: exact; }
        actions = { to_cpu; pass; }
        const default_action = pass();
        counters = by_ether_type;
        size = 16;
    }

    apply {
        switch (ether_type.apply().action_run) {
            to_cpu: { exit; }
        }
    }
}
