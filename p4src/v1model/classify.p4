// What a packet is to this fabric, counted where it comes in.
control Classify(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(PORTS_BY_KIND, CounterType.packets_and_bytes) ingress_kind;

    apply {
        if (hdr.csa.isValid()) {
            meta.asked = hdr.csa.spray;
            meta.cls = hdr.csa.cls;
            meta.comm = hdr.csa.comm;
            meta.path_id = hdr.csa.path_id;
            if (hdr.udp.dst_port == UDP_PORT_LOSS) {
                if (hdr.csa.type == CSA_TYPE_LOSS && hdr.udp.length == UDP_LENGTH_OF_LOSS) {
                    meta.kind = KIND_LOSS;
                    standard_metadata.priority = PRIORITY_LOSS;
                }
            } else if (hdr.udp.length >= UDP_LENGTH_MIN_CSA) {
                if (hdr.csa.type == CSA_TYPE_DATA) {
                    meta.kind = KIND_DATA;
                    standard_metadata.priority = PRIORITY_DATA;
                } else {
                    meta.kind = KIND_CONTROL;
                    standard_metadata.priority = PRIORITY_CONTROL;
                }
            }
        }
        ingress_kind.count((bit<32>)(standard_metadata.ingress_port[6:0] ++ meta.kind));
    }
}
