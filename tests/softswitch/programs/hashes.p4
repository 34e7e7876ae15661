// Every hash algorithm over fields of mixed widths, with bases and sizes.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> op; bit<3> a; bit<13> b; bit<48> c; bit<1> d; bit<31> e; bit<72> f; bit<64> r; bit<16> r16; }
struct headers_t { op_t op; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.op); transition accept; }
}
control NoVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        if (hdr.op.op == 0) { hash(hdr.op.r, HashAlgorithm.crc32, 32w0, { hdr.op.a, hdr.op.b, hdr.op.c, hdr.op.d, hdr.op.e, hdr.op.f }, 64w0x1_0000_0000); }
        else if (hdr.op.op == 1) { hash(hdr.op.r, HashAlgorithm.crc32_custom, 32w0, { hdr.op.a, hdr.op.b, hdr.op.c }, 64w0x1_0000_0000); }
        else if (hdr.op.op == 2) { hash(hdr.op.r, HashAlgorithm.crc16, 16w3, { hdr.op.a, hdr.op.c, hdr.op.f }, 32w1000); }
        else if (hdr.op.op == 3) { hash(hdr.op.r, HashAlgorithm.crc16_custom, 16w0, { hdr.op.f, hdr.op.d }, 32w0x10000); }
        else if (hdr.op.op == 4) { hash(hdr.op.r, HashAlgorithm.csum16, 16w0, { hdr.op.c, hdr.op.e, hdr.op.d }, 32w0x10000); }
        else if (hdr.op.op == 5) { hash(hdr.op.r, HashAlgorithm.xor16, 16w0, { hdr.op.c, hdr.op.f }, 32w0x10000); }
        else if (hdr.op.op == 6) { hash(hdr.op.r, HashAlgorithm.identity, 32w7, { hdr.op.b, hdr.op.a }, 64w0xFFFFFFFF); }
        else if (hdr.op.op == 7) { hash(hdr.op.r, HashAlgorithm.identity, 16w0, { hdr.op.f }, 64w0xFFFF_FFFF_FFFF_FFFF); }
        else if (hdr.op.op == 8) { hash(hdr.op.r16, HashAlgorithm.crc32, 16w0xFFF0, { hdr.op.c, 8w0x5A, 16w0x1234 }, 32w0x10000); }
        else if (hdr.op.op == 9) { hash(hdr.op.r, HashAlgorithm.crc16, 16w5, { hdr.op.c }, 32w0); }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control NoUpdate(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.op); } }

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
