// Digests to the control plane: fields of several widths, and what of two in one pass is sent.
#include "report.inc"

struct learned_t { bit<9> port; bit<48> address; bit<3> small; }
struct seen_t { bit<8> op; bit<16> group; }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        InReport.apply(hdr, meta, std);
        std.egress_spec = 2;
        // One call for each digest: BMv2 makes a list of its own of every call, and can be told of one list a name.
        bit<48> address = 32w0xABCDEF01 ++ hdr.op.group;
        bit<3> small = hdr.op.argument[2:0];
        if (hdr.op.op == 2 || hdr.op.op == 3) {
            digest<seen_t>(1, { hdr.op.op, hdr.op.group });
        }
        if (hdr.op.op == 2) {
            hdr.op.group = 0x7777;
        }
        if (hdr.op.op == 3) {  // two in one pass: the last one counts
            address = 1;
            small = 2;
            mark_to_drop(std);
        }
        if (hdr.op.op == 1 || hdr.op.op == 3) {
            digest<learned_t>(1, { std.ingress_port, address, small });
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { OutReport.apply(hdr, meta, std); }
}

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
