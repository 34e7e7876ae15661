// What left for the fabric, by port: per kind, and DATA per path bucket of the sender.
control Telemetry(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(PORTS_BY_KIND, CounterType.packets_and_bytes) egress_kind;
    counter(PORTS_BY_PATH, CounterType.packets_and_bytes) path_tx;

    apply {
        if (!hdr.packet_in.isValid()) {   // the controller's port would be counted as that of its low bits
            egress_kind.count((bit<32>)(standard_metadata.egress_port[6:0] ++ meta.kind));
        }
        if (meta.kind == KIND_DATA) {
            path_tx.count((bit<32>)(standard_metadata.egress_port[6:0] ++ hdr.csa.path_id[3:0]));
        }
    }
}
