// Header unions, alone and in a stack: at most one of their headers is valid.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> op; bit<8> kinds; bit<8> error_code; bit<8> valid; }
header narrow_t { bit<8> kind; bit<8> a; }
header wide_t { bit<8> kind; bit<40> b; }
header_union value_t { narrow_t narrow; wide_t wide; }
struct headers_t { op_t op; value_t one; value_t other; value_t[3] many; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.op);
        transition select(hdr.op.kinds[1:0]) { 1: one_narrow; 2: one_wide; default: second; }
    }
    state one_narrow { packet.extract(hdr.one.narrow); transition second; }
    state one_wide { packet.extract(hdr.one.wide); transition second; }
    state second {
        transition select(hdr.op.kinds[3:2]) { 1: other_narrow; 2: other_wide; 3: both; default: stack; }
    }
    state other_narrow { packet.extract(hdr.other.narrow); transition stack; }
    state other_wide { packet.extract(hdr.other.wide); transition stack; }
    state both { packet.extract(hdr.other.narrow); packet.extract(hdr.other.wide); transition stack; }
    state stack { transition select(packet.lookahead<bit<8>>()) { 1: narrow; 2: wide; default: accept; } }
    state narrow { packet.extract(hdr.many.next.narrow); transition stack; }
    state wide { packet.extract(hdr.many.next.wide); transition stack; }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        bit<8> op = hdr.op.op;
        if (std.parser_error == error.StackOutOfBounds) { hdr.op.error_code = 1; }
        else if (std.parser_error != error.NoError) { hdr.op.error_code = 2; }
        if (op == 1) { hdr.one.wide.setValid(); hdr.one.wide.kind = 2; hdr.one.wide.b = 0x0102030405; }
        else if (op == 2) { hdr.one.narrow.setValid(); hdr.one.narrow.kind = 1; hdr.one.narrow.a = 7; }
        else if (op == 3) { hdr.one.narrow.setInvalid(); }
        else if (op == 4) { hdr.one.wide.setInvalid(); hdr.one.narrow.setInvalid(); }
        else if (op == 5) { hdr.one.narrow = hdr.other.narrow; }
        else if (op == 6) { hdr.one.wide = hdr.other.wide; }
        else if (op == 7) { hdr.many[0].wide.setValid(); hdr.many[0].wide.kind = 2; hdr.many[0].wide.b = 9; }
        else if (op == 8) { hdr.many[1].narrow = hdr.one.narrow; }
        else if (op == 9) { if (hdr.one.narrow == hdr.other.narrow) { hdr.op.error_code = 0x55; } }
        if (hdr.one.isValid()) { hdr.op.valid = hdr.op.valid | 1; }
        if (hdr.one.narrow.isValid()) { hdr.op.valid = hdr.op.valid | 2; }
        if (hdr.one.wide.isValid()) { hdr.op.valid = hdr.op.valid | 4; }
        if (hdr.other.isValid()) { hdr.op.valid = hdr.op.valid | 8; }
        if (hdr.other.narrow.isValid()) { hdr.op.valid = hdr.op.valid | 16; }
        if (hdr.many[0].wide.isValid()) { hdr.op.valid = hdr.op.valid | 32; }
        if (hdr.many[1].narrow.isValid()) { hdr.op.valid = hdr.op.valid | 64; }
        if (hdr.many[2].wide.isValid()) { hdr.op.valid = hdr.op.valid | 128; }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control NoUpdate(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.op); packet.emit(hdr.one); packet.emit(hdr.other); packet.emit(hdr.many); }
}

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
