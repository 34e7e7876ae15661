// Externs and the target: hashes, random numbers, registers, counters, checksums, clones, multicast, log, assert, exit.
#include <core.p4>
#include <v1model.p4>

header cmd_t {
    bit<8> cmd;
    bit<32> a;
    bit<32> b;
    bit<16> c;
    bit<4> d;
    bit<12> e;
    bit<64> r;
}
header sum_t { bit<16> words; bit<16> more; bit<16> checksum; }

struct headers_t { cmd_t cmd; sum_t sum; }
struct metadata_t {
    @field_list(1) bit<32> kept;
    bit<32> lost;
}

register<bit<32>>(4) cells;
register<bit<128>>(2) wide_cells;

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.cmd);
        transition select(hdr.cmd.cmd) { 0x50 &&& 0xF0: sum; default: accept; }
    }
    state sum { packet.extract(hdr.sum); transition accept; }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.sum.isValid(), { hdr.sum.words, hdr.sum.more, hdr.cmd.d, hdr.cmd.e }, hdr.sum.checksum,
                        HashAlgorithm.csum16);
    }
}

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    counter(4, CounterType.packets_and_bytes) counted;

    action leave() { exit; }

    apply {
        std.egress_spec = std.ingress_port;
        bit<8> cmd = hdr.cmd.cmd;
        if (cmd == 0) { hash(hdr.cmd.r, HashAlgorithm.crc16, 64w0, { hdr.cmd.a, hdr.cmd.b, hdr.cmd.d, hdr.cmd.e }, 64w0x10000); }
        else if (cmd == 1) { hash(hdr.cmd.r, HashAlgorithm.crc32, 64w0, { hdr.cmd.a, hdr.cmd.c, hdr.cmd.d }, 64w0x100000000); }
        else if (cmd == 2) { hash(hdr.cmd.r, HashAlgorithm.csum16, 64w0, { hdr.cmd.a, hdr.cmd.b, hdr.cmd.c }, 64w0x10000); }
        else if (cmd == 3) { hash(hdr.cmd.r, HashAlgorithm.xor16, 64w0, { hdr.cmd.a, hdr.cmd.c, 8w5 }, 64w0x10000); }
        else if (cmd == 4) { hash(hdr.cmd.r, HashAlgorithm.identity, 64w0, { hdr.cmd.d, hdr.cmd.e, hdr.cmd.a }, 64w0xFFFFFFFFFFFFFFFF); }
        else if (cmd == 5) { hash(hdr.cmd.r, HashAlgorithm.crc32, 64w100, { hdr.cmd.a, 7w3, hdr.cmd.d, 5w9 }, 64w7); }
        else if (cmd == 6) { random(hdr.cmd.a, 32w10, 32w19); }
        else if (cmd == 7) { random(hdr.cmd.r, 64w0, 64w0xFFFFFFFFFFFFFFFF); }
        else if (cmd == 8) {
            cells.read(hdr.cmd.b, hdr.cmd.a);
            cells.write(hdr.cmd.a, hdr.cmd.b + 0x80000001);
        }
        else if (cmd == 9) {
            bit<128> big;
            wide_cells.read(big, hdr.cmd.a);
            hdr.cmd.r = big[95:32];
            wide_cells.write(hdr.cmd.a, big << 8 | (bit<128>)hdr.cmd.b);
        }
        else if (cmd == 10) { counted.count(hdr.cmd.a); }
        else if (cmd == 11) { leave(); hdr.cmd.b = 1; }
        else if (cmd == 12) { mark_to_drop(std); }
        else if (cmd == 13) { mark_to_drop(std); std.egress_spec = 2; }
        else if (cmd == 14) { std.mcast_grp = 1; }
        else if (cmd == 15) {
            meta.kept = hdr.cmd.a;
            meta.lost = hdr.cmd.a;
            clone_preserving_field_list(CloneType.I2E, 5, 1);
            hdr.cmd.b = 0xB;
        }
        else if (cmd == 17) { log_msg("a={} b={}", { hdr.cmd.a, hdr.cmd.b }); }
        else if (cmd == 18) { assert(hdr.cmd.a == 1); hdr.cmd.b = 2; }
        else if (cmd == 19) { std.mcast_grp = 9; }
        else if (cmd == 20) { std.egress_spec = 77; }
        else if (cmd == 21) { std.priority = (bit<3>)hdr.cmd.a; }
        else if (cmd == 0x50) { hdr.cmd.a = (bit<32>)std.checksum_error; }
        else if (cmd == 0x51) { hdr.sum.words = hdr.sum.words + 1; }
        if (cmd == 11) { hdr.cmd.b = 2; }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    counter(4, CounterType.packets_and_bytes) left;
    apply {
        left.count((bit<32>)std.egress_port & 3);
        bit<8> cmd = hdr.cmd.cmd;
        if (cmd == 11) { hdr.cmd.r = 11; }
        else if (cmd == 14) { hdr.cmd.r = (bit<64>)std.egress_rid; hdr.cmd.c = (bit<16>)std.instance_type; }
        else if (cmd == 15) { hdr.cmd.r = meta.kept ++ meta.lost; hdr.cmd.c = (bit<16>)std.instance_type; }
        else if (cmd == 16) {
            if (std.instance_type == 0) {
                meta.kept = hdr.cmd.a;
                clone_preserving_field_list(CloneType.E2E, 5, 1);
            }
            hdr.cmd.r = (bit<64>)meta.kept;
            hdr.cmd.c = (bit<16>)std.instance_type;
        }
        else if (cmd == 21) { hdr.cmd.b = (bit<32>)std.enq_qdepth; hdr.cmd.a = (bit<32>)std.deq_qdepth; hdr.cmd.c = (bit<16>)std.deq_timedelta; }
        else if (cmd == 22) { mark_to_drop(std); }
        else if (cmd == 23) { hdr.cmd.a = (bit<32>)std.ingress_global_timestamp; hdr.cmd.b = (bit<32>)std.egress_global_timestamp; hdr.cmd.r = (bit<64>)std.enq_timestamp; }
        else if (cmd == 24) { exit; }
        if (cmd == 24) { hdr.cmd.r = 24; }
    }
}

control Update(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.sum.isValid(), { hdr.sum.words, hdr.sum.more, hdr.cmd.d, hdr.cmd.e }, hdr.sum.checksum,
                        HashAlgorithm.csum16);
    }
}

control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.cmd); packet.emit(hdr.sum); } }

V1Switch(P(), Verify(), I(), E(), Update(), D()) main;
