// Parser value sets, of one field and of two, filled by the control plane.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<16> kind; bit<12> part; bit<4> more; bit<8> r; }
struct headers_t { op_t op; }
struct metadata_t { bit<8> r; }
struct pair_t { bit<12> part; bit<4> more; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    value_set<bit<16>>(4) kinds;
    value_set<pair_t>(4) pairs;
    state start {
        packet.extract(hdr.op);
        transition select(hdr.op.kind) { 0x0001: one; kinds: listed; 0x0002: two; default: pair; }
    }
    state one { meta.r = 1; transition accept; }
    state listed { meta.r = 2; transition pair; }
    state two { meta.r = 3; transition accept; }
    state pair { transition select(hdr.op.part, hdr.op.more) { pairs: both; default: accept; } }
    state both { meta.r = meta.r | 0x10; transition accept; }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { std.egress_spec = std.ingress_port; hdr.op.r = meta.r; }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control NoUpdate(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.op); } }

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
