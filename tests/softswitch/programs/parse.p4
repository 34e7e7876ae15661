// The parser: select on fields, masks, ranges and lookahead; verify; advance; errors; header validity; truncation.
#include <core.p4>
#include <v1model.p4>

error { Unlucky }

header first_t { bit<8> kind; bit<8> value; }
header second_t { bit<4> high; bit<12> low; }
header third_t { bit<32> word; }
header report_t { bit<8> error_code; bit<8> valid; bit<16> length; bit<16> egress_length; }

struct headers_t { report_t report; first_t first; second_t second; third_t third; third_t copy; }
struct metadata_t { bit<8> ahead; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.first);
        transition select(hdr.first.kind) {
            1: second;
            2: third;
            3: look;
            4: check;
            5: skip;
            0x80 &&& 0xF0: second;
            0x90..0x95: third;
            default: accept;
        }
    }
    state second {
        packet.extract(hdr.second);
        transition select(hdr.second.high, hdr.second.low) {
            (1, 0x123): third;
            (2, 0x100 &&& 0xF00): third;
            default: accept;
        }
    }
    state third { packet.extract(hdr.third); transition accept; }
    state look {
        meta.ahead = packet.lookahead<bit<8>>();
        transition select(packet.lookahead<bit<16>>()[7:0]) { 0xAB: third; default: accept; }
    }
    state check {
        verify(hdr.first.value != 13, error.Unlucky);
        packet.extract(hdr.third);
        transition accept;
    }
    state skip {
        packet.advance((bit<32>)hdr.first.value);
        packet.extract(hdr.third);
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        hdr.report.setValid();
        hdr.report.error_code = 0xFF;
        if (std.parser_error == error.NoError) { hdr.report.error_code = 0; }
        else if (std.parser_error == error.PacketTooShort) { hdr.report.error_code = 1; }
        else if (std.parser_error == error.Unlucky) { hdr.report.error_code = 2; }
        else if (std.parser_error == error.ParserInvalidArgument) { hdr.report.error_code = 3; }
        hdr.report.valid = meta.ahead;
        if (hdr.first.isValid()) { hdr.report.valid[0:0] = 1; }
        if (hdr.second.isValid()) { hdr.report.valid[1:1] = 1; }
        if (hdr.third.isValid()) { hdr.report.valid[2:2] = 1; }
        hdr.report.length = (bit<16>)std.packet_length;
        if (hdr.first.isValid()) {
            if (hdr.first.value == 0x11) { hdr.first.setInvalid(); }
            else if (hdr.first.value == 0x22) { hdr.copy = hdr.third; hdr.third.word = hdr.third.word + 1; }
            else if (hdr.first.value == 0x33) { hdr.third.setInvalid(); hdr.third.setValid(); }
            else if (hdr.first.value == 0x44) { truncate(12); }
            else if (hdr.first.value == 0x55) { truncate(20); truncate(9); truncate(15); }
        }
        std.egress_spec = std.ingress_port;
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { hdr.report.egress_length = (bit<16>)std.packet_length; }
}
control NoUpdate(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.report);
        packet.emit(hdr.first);
        packet.emit(hdr.second);
        packet.emit(hdr.copy);
        packet.emit(hdr.third);
    }
}

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
