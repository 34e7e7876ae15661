// Multicast with replication ids; what comes first of multicast, drop and egress port.
#include "report.inc"

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        InReport.apply(hdr, meta, std);
        meta.kept = 0x1234;
        std.mcast_grp = hdr.op.group;
        if (hdr.op.op == 1) { std.egress_spec = 2; }
        else if (hdr.op.op == 2) { mark_to_drop(std); }
        else if (hdr.op.op == 3) { mark_to_drop(std); std.mcast_grp = hdr.op.group; }
        else if (hdr.op.op == 4) { truncate(50); }
        else if (hdr.op.op == 5) { clone_preserving_field_list(CloneType.I2E, 7, 1); }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        OutReport.apply(hdr, meta, std);
        if (hdr.op.argument != 0 && (bit<8>)std.egress_port == hdr.op.argument) { mark_to_drop(std); }
        if (std.egress_rid == 0xFFFF) { hdr.op.setInvalid(); }
    }
}

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
