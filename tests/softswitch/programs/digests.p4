// Digests to the control plane: fields of several widths, and what of two in one pass is sent.
#include "report.inc"

struct learned_t { bit<9> port; bit<48> address; bit<3> small; }
struct seen_t { bit<8> op; bit<16> group; }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        InReport.apply(hdr, meta, std);
        std.egress_spec = 2;
        if (hdr.op.op == 1) {
            digest<learned_t>(1, { std.ingress_port, 32w0xABCDEF01 ++ hdr.op.group, hdr.op.argument[2:0] });
        } else if (hdr.op.op == 2) {
            digest<seen_t>(1, { hdr.op.op, hdr.op.group });
            hdr.op.group = 0x7777;
        } else if (hdr.op.op == 3) {
            digest<seen_t>(1, { hdr.op.op, hdr.op.group });
            digest<learned_t>(1, { std.ingress_port, 48w1, 3w2 });  // the last one counts
            mark_to_drop(std);
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { OutReport.apply(hdr, meta, std); }
}

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
