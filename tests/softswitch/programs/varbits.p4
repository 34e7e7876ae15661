// Fields of variable length: extracted, copied, compared, checksummed, with fields behind them; errors of the parser.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> op; bit<8> bits; bit<8> other_bits; bit<8> error_code; bit<16> length; bit<16> sum; }
header options_t { bit<4> high; bit<12> first; varbit<96> data; bit<3> more; bit<13> behind; }
struct headers_t { op_t op; options_t one; options_t other; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.op);
        transition select(hdr.op.op[7:7]) { 1: accept; default: one; }
    }
    state one {
        packet.extract(hdr.one, (bit<32>)hdr.op.bits);
        transition select(hdr.op.op[6:6]) { 1: accept; default: other; }
    }
    state other { packet.extract(hdr.other, (bit<32>)hdr.op.other_bits); transition accept; }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        bit<6> op = hdr.op.op[5:0];
        if (std.parser_error == error.ParserInvalidArgument) { hdr.op.error_code = 1; }
        else if (std.parser_error == error.HeaderTooShort) { hdr.op.error_code = 2; }
        else if (std.parser_error == error.PacketTooShort) { hdr.op.error_code = 3; }
        else if (std.parser_error != error.NoError) { hdr.op.error_code = 4; }
        if (op == 1) { hdr.one = hdr.other; }
        else if (op == 2) { hdr.other = hdr.one; hdr.one.setInvalid(); }
        else if (op == 3) { hdr.one.behind = 0x155; hdr.one.high = 9; }
        else if (op == 4) { if (hdr.one == hdr.other) { hdr.op.error_code = 0x77; } }
        else if (op == 5) { hdr.one.setInvalid(); }
        else if (op == 6) { hdr.one.setInvalid(); hdr.one.setValid(); hdr.one.first = 5; }
        else if (op == 7) { hdr.one.data = hdr.other.data; }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { hdr.op.length = std.packet_length[15:0]; }
}
control Update(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.one.isValid(),
            { hdr.op.bits, hdr.one.high, hdr.one.first, hdr.one.data, hdr.one.more, hdr.one.behind, hdr.op.op },
            hdr.op.sum, HashAlgorithm.csum16);
    }
}
control D(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.op); packet.emit(hdr.one); packet.emit(hdr.other); }
}

V1Switch(P(), NoVerify(), I(), E(), Update(), D()) main;
