// What is read before it is written, on one way or on all of them: metadata and temporaries are 0, whatever the
// packets before had there.
#include <core.p4>
#include <v1model.p4>

header op_t {
    bit<8> op;
    bit<8> count;      // of items
    bit<16> value;
}
header item_t { bit<16> value; }
header out_t {
    bit<16> by_parser;     // set in one state of the parser
    bit<16> by_items;      // summed up in a loop of states
    bit<16> by_branch;     // set in one branch of ingress
    bit<16> by_register;   // read from a register, if the index lies within it
    bit<16> never;
    bit<16> kept;          // preserved by resubmit, recirculation and clones
    bit<16> lost;          // and not
    bit<16> in_egress;     // set in ingress, read in egress
    bit<96> wide;
    bit<16> passes;
}

struct headers_t { op_t op; item_t item; out_t seen; item_t spare; item_t gone; }
struct metadata_t {
    bit<16> by_parser;
    bit<16> by_items;
    bit<8> left;
    bit<16> by_branch;
    bit<16> never;
    @field_list(1) bit<16> kept;
    bit<16> lost;
    bit<16> in_egress;
    bit<96> wide;
    @field_list(1) bit<16> passes;
}

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.op);
        meta.left = hdr.op.count;
        transition select(hdr.op.op) {
            1: set_it;
            2: items;
            default: accept;
        }
    }
    state set_it {
        meta.by_parser = hdr.op.value;
        transition accept;
    }
    state items {
        transition select(meta.left) {
            0: accept;
            default: another;
        }
    }
    state another {
        packet.extract(hdr.item);
        meta.by_items = meta.by_items + hdr.item.value;
        meta.left = meta.left - 1;
        transition items;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }
control NoUpdate(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    register<bit<16>>(4) numbers;
    apply {
        std.egress_spec = 2;
        if (hdr.op.op == 3) { meta.by_branch = hdr.op.value; meta.wide = (bit<96>)hdr.op.value << 60; }
        hdr.seen.setValid();
        if (hdr.op.op == 4) {
            bit<16> found;
            numbers.write(1, hdr.op.value);
            numbers.read(found, (bit<32>)hdr.op.count);
            hdr.seen.by_register = found;
        }
        hdr.seen.by_parser = meta.by_parser;
        hdr.seen.by_items = meta.by_items;
        hdr.seen.by_branch = meta.by_branch;
        hdr.gone.value = hdr.op.value + 1;
        hdr.seen.never = meta.never;
        hdr.seen.kept = meta.kept;
        hdr.seen.lost = meta.in_egress;
        hdr.seen.wide = meta.wide;
        meta.in_egress = 0x1111 + hdr.op.value;
        meta.passes = meta.passes + 1;
        meta.kept = meta.kept + hdr.op.value;
        meta.lost = meta.lost + 0x2222;
        if (hdr.op.op == 5 && meta.passes < 3) { resubmit_preserving_field_list(1); }
        if (hdr.op.op == 6 || hdr.op.op == 11) { clone_preserving_field_list(CloneType.I2E, 1, 1); }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (std.instance_type == 1) { hdr.seen.setValid(); hdr.seen.lost = meta.lost; }
        hdr.seen.in_egress = meta.in_egress;
        hdr.seen.passes = meta.passes;
        if (std.instance_type == 0 && hdr.op.op == 7) { clone_preserving_field_list(CloneType.E2E, 1, 1); }
        if (hdr.op.op == 8 && meta.passes < 3) { hdr.seen.setInvalid(); recirculate_preserving_field_list(1); }
        // A header that never was there: 0 here, and what another packet had on simple_switch_grpc.
        if (hdr.op.op == 9) {
            hdr.seen.never = hdr.spare.value;
        } else if (hdr.op.op == 11 && std.instance_type == 1) {
            hdr.seen.never = hdr.gone.value;   // which the clone has not from ingress
        }
        if (hdr.op.op == 10) {
            hdr.spare = hdr.item;   // not valid either
            hdr.seen.never = hdr.spare.isValid() ? 16w1 : 16w2;
        }
    }
}
control D(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.op); packet.emit(hdr.item); packet.emit(hdr.spare); packet.emit(hdr.seen); }
}

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
