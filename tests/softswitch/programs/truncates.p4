// Truncate to a length that the packet says, in ingress and in egress, with headers added and removed.
#include "report.inc"

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        InReport.apply(hdr, meta, std);
        std.egress_spec = 2;
        if (hdr.op.op == 1) { truncate((bit<32>)hdr.op.argument); }
        else if (hdr.op.op == 2) { truncate((bit<32>)hdr.op.argument); truncate((bit<32>)hdr.op.group); }
        else if (hdr.op.op == 3) { truncate((bit<32>)hdr.op.argument); hdr.op.setInvalid(); }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        OutReport.apply(hdr, meta, std);
        if (hdr.op.isValid() && hdr.op.op == 4) { truncate((bit<32>)hdr.op.argument); }
        else if (hdr.op.isValid() && hdr.op.op == 5) { truncate(std.packet_length - (bit<32>)hdr.op.argument); }
    }
}

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
