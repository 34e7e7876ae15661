// Recirculate: what egress made goes round again, with the preserved fields.
#include "report.inc"

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        InReport.apply(hdr, meta, std);
        std.egress_spec = hdr.op.op == 5 ? 9w127 : 9w2;
        if (hdr.op.op == 4) { truncate(40); }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        OutReport.apply(hdr, meta, std);
        if (hdr.op.passes <= hdr.op.argument) {
            meta.kept = meta.kept + 0x100;
            meta.lost = 0x5555;
            hdr.op.group = hdr.op.group + 1;
            if (hdr.op.op == 1 || hdr.op.op == 4 || hdr.op.op == 5) { recirculate_preserving_field_list(1); }
            else if (hdr.op.op == 2) { recirculate_preserving_field_list(2); }
            else if (hdr.op.op == 3) { recirculate_preserving_field_list(1); mark_to_drop(std); }
        } else if (hdr.op.op == 5) {
            hdr.op.op = 0;
            recirculate_preserving_field_list(1);
        }
    }
}

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
