// What primitives work on: a copy of the metadata, elements of a stack at an index that the packet has.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> op; bit<8> index; bit<8> other; bit<8> seen; }
header item_t { bit<8> bottom; bit<8> v; bit<16> w; }
struct headers_t { op_t op; item_t[4] items; item_t[4] more; item_t extra; }
struct metadata_t { bit<1> unused; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.op);
        transition select(hdr.op.op[7:7]) { 1: extra; default: item; }
    }
    state item {
        packet.extract(hdr.items.next);
        transition select(hdr.items.last.bottom) { 0: item; 1: extra; default: accept; }
    }
    state extra { packet.extract(hdr.extra); transition accept; }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action dropped(inout standard_metadata_t given) { mark_to_drop(given); }
    action dropped_and_sent(inout standard_metadata_t given, bit<9> port) {
        mark_to_drop(given);
        given.egress_spec = port;
    }
    action given_back(in standard_metadata_t given) {
        standard_metadata_t mine = given;
        mark_to_drop(mine);
        hdr.op.seen = mine.egress_spec[7:0];
    }
    action group_and_drop(inout standard_metadata_t given) {
        given.mcast_grp = 1;
        mark_to_drop(given);
    }

    apply {
        std.egress_spec = 2;
        bit<8> op = hdr.op.op & 0x7f;
        bit<2> i = hdr.op.index[1:0];
        bit<2> j = hdr.op.other[1:0];
        if (op == 1) { dropped(std); }
        else if (op == 2) { dropped_and_sent(std, 3); }
        else if (op == 3) { given_back(std); }
        else if (op == 4) { group_and_drop(std); }
        else if (op == 5) { log_msg("without values"); }
        else if (op == 6) { log_msg("with {} and {}", { hdr.op.index, hdr.op.other }); }
        else if (op == 7) { hdr.items[i].setValid(); hdr.items[i] = { 0, hdr.op.other, 0x1234 }; }
        else if (op == 8) { hdr.items[i].setInvalid(); }
        else if (op == 9) { hdr.items[2] = hdr.items[i]; }
        else if (op == 10) { hdr.extra = hdr.items[i]; }
        else if (op == 11) { hdr.items[0] = hdr.items[i]; hdr.items[1] = hdr.items[j]; }
        else if (op == 12) { hdr.more[1] = hdr.items[j]; hdr.items[j].setInvalid(); }
        else if (op == 13) { hdr.items[i].setInvalid(); hdr.items[j].setInvalid(); hdr.extra.setInvalid(); }
        else if (op == 14) { hdr.op.seen = hdr.items[i].v; }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action dropped(inout standard_metadata_t given) { mark_to_drop(given); }
    apply { if (hdr.op.op == 15) { dropped(std); } }
}
control NoUpdate(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.op); packet.emit(hdr.items); packet.emit(hdr.more); packet.emit(hdr.extra); }
}

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
