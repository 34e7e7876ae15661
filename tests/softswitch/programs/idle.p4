// Idle timeouts of exact and ternary entries.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> op; bit<8> key; bit<8> r; }
struct headers_t { op_t op; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.op); transition accept; }
}
control NoVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action found(bit<8> r) { hdr.op.r = r; }
    table exact_keys {
        key = { hdr.op.key: exact; }
        actions = { found; NoAction; }
        const default_action = NoAction();
        support_timeout = true;
        size = 16;
    }
    table ternary_keys {
        key = { hdr.op.key: ternary; }
        actions = { found; NoAction; }
        const default_action = NoAction();
        support_timeout = true;
        size = 16;
    }
    apply {
        std.egress_spec = std.ingress_port;
        if (hdr.op.op == 0) { exact_keys.apply(); } else { ternary_keys.apply(); }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control NoUpdate(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.op); } }

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
