// Clones from ingress and from egress, with preserved fields; of dropped packets, of clones, twice.
#include "report.inc"

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        InReport.apply(hdr, meta, std);
        std.egress_spec = 2;
        meta.kept = 0x1234;
        meta.lost = 0x5555;
        bit<32> session = (bit<32>)hdr.op.argument;
        if (hdr.op.op == 1) { clone_preserving_field_list(CloneType.I2E, session, 1); }
        else if (hdr.op.op == 2) { clone_preserving_field_list(CloneType.I2E, session, 2); }
        else if (hdr.op.op == 3) { clone(CloneType.I2E, session); mark_to_drop(std); }
        else if (hdr.op.op == 4) {
            clone_preserving_field_list(CloneType.I2E, session, 1);
            clone_preserving_field_list(CloneType.I2E, session + 1, 2);  // the last one counts
        }
        else if (hdr.op.op == 5) { truncate(60); clone_preserving_field_list(CloneType.I2E, session, 1); }
        else if (hdr.op.op == 6) { std.priority = 3; clone(CloneType.I2E, session); }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        OutReport.apply(hdr, meta, std);
        bit<32> session = (bit<32>)hdr.op.argument;
        if (std.instance_type == 0) {
            if (hdr.op.op == 11) { clone_preserving_field_list(CloneType.E2E, session, 1); hdr.op.group = 7; }
            else if (hdr.op.op == 12) { meta.kept = 0x4321; clone_preserving_field_list(CloneType.E2E, session, 1); }
            else if (hdr.op.op == 13) { clone(CloneType.E2E, session); mark_to_drop(std); }
            else if (hdr.op.op == 14) { truncate(60); clone_preserving_field_list(CloneType.E2E, session, 2); }
        } else if (std.instance_type == 1) {
            if (hdr.op.op == 2) { clone_preserving_field_list(CloneType.E2E, session, 1); }
        } else {
            hdr.op.passes = hdr.op.passes + 0x10;
        }
    }
}

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
