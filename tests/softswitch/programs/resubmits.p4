// Resubmit, with and without preserved fields: the packet as it came, parsed again.
#include "report.inc"

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        InReport.apply(hdr, meta, std);
        std.egress_spec = 2;
        if (meta.rounds < (bit<8>)hdr.op.argument) {
            meta.rounds = meta.rounds + 1;
            meta.kept = meta.kept + 0x100;
            meta.lost = 0x5555;
            hdr.op.group = 0x9999;  // what ingress wrote into a header is gone in the next pass
            if (hdr.op.op == 1) { resubmit_preserving_field_list(1); }
            else if (hdr.op.op == 2) { resubmit_preserving_field_list(2); }
            else if (hdr.op.op == 3) { resubmit_preserving_field_list(1); mark_to_drop(std); }
            else if (hdr.op.op == 4) { truncate(40); resubmit_preserving_field_list(1); }
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { OutReport.apply(hdr, meta, std); }
}

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
