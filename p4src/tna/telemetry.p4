// What left, by port: per kind, and DATA per path bucket of the sender.
control Telemetry(inout headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t intrinsic) {
    Counter<bit<64>, bit<9>>(PORTS_BY_KIND, CounterType_t.PACKETS_AND_BYTES) egress_kind;
    Counter<bit<64>, bit<11>>(PORTS_BY_PATH, CounterType_t.PACKETS_AND_BYTES) path_tx;

    Hash<bit<9>>(HashAlgorithm_t.IDENTITY) port_and_kind;

    apply {
        if (intrinsic.egress_port != CPU_PORT && !meta.alarm.isValid()) {   // what is for the fabric
            egress_kind.count(port_and_kind.get({ intrinsic.egress_port[6:0], meta.kind }));
        }
        if (meta.kind == KIND_DATA) {
            path_tx.count(meta.by_path);
        }
    }
}
