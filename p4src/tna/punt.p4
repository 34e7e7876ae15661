// Frames that are for the controller: link probes, by EtherType and port. How many of them the CPU port takes is
// a setting of the traffic manager, whose queue for it has a rate.
control Punt(in headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t intrinsic,
             inout ingress_intrinsic_metadata_for_tm_t to_tm) {
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) by_ether_type;

    action to_cpu() {
        to_tm.ucast_egress_port = CPU_PORT;
        meta.punted = 1;
        by_ether_type.count();
    }

    action pass() {
        by_ether_type.count();
    }

    table ether_type {
        key = {
            hdr.ethernet.ether_type: exact;
            intrinsic.ingress_port: exact @name("port");
        }
        actions = { to_cpu; pass; }
        const default_action = pass();
        counters = by_ether_type;
        size = PUNTS;
    }

    apply {
        ether_type.apply();
    }
}

// The egress half: what goes to the controller says where it came in.
control ToCpu(inout headers_t hdr, in egress_metadata_t meta, in egress_intrinsic_metadata_t intrinsic) {
    apply {
        if (intrinsic.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = meta.bridged.ingress_port;
            hdr.packet_in.pad = meta.bridged.pad1;
        }
    }
}
