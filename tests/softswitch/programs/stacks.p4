// Header stacks: next, last and lastIndex in the parser; push, pop, copies and indices known at run time in controls.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> op; bit<8> index; bit<8> error_code; bit<8> last; bit<16> r; bit<8> valid; }
header item_t { bit<8> bottom; bit<8> v; bit<32> w; bit<16> rest; }
struct headers_t { op_t op; item_t[4] items; item_t[4] copy; item_t extra; }
struct metadata_t { bit<8> last; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.op);
        transition select(hdr.op.index[7:7]) { 1: accept; default: item; }
    }
    state item {
        packet.extract(hdr.items.next);
        meta.last = (bit<8>)hdr.items.lastIndex;
        transition select(hdr.items.last.bottom, hdr.items.last.v[3:0]) {
            (0, _): item;
            (1, 5): extra;
            default: accept;
        }
    }
    state extra { packet.extract(hdr.extra); transition accept; }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        bit<8> op = hdr.op.op;
        bit<2> i = hdr.op.index[1:0];
        hdr.op.last = meta.last;
        if (std.parser_error == error.StackOutOfBounds) { hdr.op.error_code = 1; }
        else if (std.parser_error == error.PacketTooShort) { hdr.op.error_code = 2; }
        else if (std.parser_error != error.NoError) { hdr.op.error_code = 3; }
        if (op == 1) { hdr.items.push_front(1); }
        else if (op == 2) {
            hdr.items.push_front(2);
            hdr.items[0].setValid();
            hdr.items[0] = { 0, 0xAA, 0x01020304, 0xBEEF };
            hdr.items[1].setValid();
            hdr.items[1].v = 0xBB;
        }
        else if (op == 3) { hdr.items.pop_front(1); }
        else if (op == 4) { hdr.items.pop_front(3); }
        else if (op == 5) { hdr.items[i].w = 0xCAFE0000 + (bit<32>)hdr.items[i].v; }
        else if (op == 6) { hdr.op.r = hdr.items[i].w[15:0]; }
        else if (op == 7) { hdr.copy = hdr.items; hdr.items.pop_front(2); hdr.copy[1].setInvalid(); }
        else if (op == 8) { hdr.items[1] = hdr.items[0]; hdr.items[0].setInvalid(); }
        else if (op == 9) { hdr.items[3] = hdr.extra; hdr.extra = hdr.items[2]; }
        else if (op == 10) { if (hdr.items[0] == hdr.items[1]) { hdr.op.r = 1; } else { hdr.op.r = 2; } }
        else if (op == 11) { hdr.items.push_front(4); hdr.items[3] = { 1, 2, 3, 4 }; hdr.items[3].setValid(); }
        else if (op == 12) { hdr.items.pop_front(1); hdr.items.push_front(1); }
        if (hdr.items[0].isValid()) { hdr.op.valid = hdr.op.valid | 1; }
        if (hdr.items[1].isValid()) { hdr.op.valid = hdr.op.valid | 2; }
        if (hdr.items[2].isValid()) { hdr.op.valid = hdr.op.valid | 4; }
        if (hdr.items[3].isValid()) { hdr.op.valid = hdr.op.valid | 8; }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control NoUpdate(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.op); packet.emit(hdr.items); packet.emit(hdr.copy); packet.emit(hdr.extra); }
}

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
