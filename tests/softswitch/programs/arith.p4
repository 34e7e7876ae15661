// Expressions: `op` chooses one, the result goes back in `r` by the port that the frame came from.
#include <core.p4>
#include <v1model.p4>

header op_t {
    bit<8> op;
    bit<8> x8;
    bit<16> x16;
    bit<32> a;
    bit<32> b;
    bit<48> m;
    bit<64> c;
    bit<64> d;
    int<32> s;
    int<32> t;
    bit<5> f5;
    bit<11> f11;
    bit<64> r;
    bit<128> w;
}

struct headers_t { op_t op; }
struct metadata_t { bit<33> f33; bit<1> flag; int<7> s7; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.op); transition accept; }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        bit<32> a = hdr.op.a;
        bit<32> b = hdr.op.b;
        bit<64> c = hdr.op.c;
        bit<64> d = hdr.op.d;
        int<32> s = hdr.op.s;
        int<32> t = hdr.op.t;
        bit<8> x = hdr.op.x8;
        bit<8> op = hdr.op.op;
        if (op == 0) { hdr.op.r = (bit<64>)(a + b); }
        else if (op == 1) { hdr.op.r = (bit<64>)(a - b); }
        else if (op == 2) { hdr.op.r = (bit<64>)(a * b); }
        else if (op == 3) { hdr.op.r = (bit<64>)(a << x); }
        else if (op == 4) { hdr.op.r = c >> x; }
        else if (op == 5) { hdr.op.r = (bit<64>)((a & b) | (~a ^ b)); }
        else if (op == 6) { hdr.op.r = c * d; }
        else if (op == 7) { hdr.op.r = c + d; }
        else if (op == 8) { hdr.op.r = c - d; }
        else if (op == 9) { hdr.op.r = (bit<64>)(a |+| b); }
        else if (op == 10) { hdr.op.r = (bit<64>)(a |-| b); }
        else if (op == 11) { hdr.op.r = s < t ? 64w1 : 64w2; }
        else if (op == 12) { hdr.op.r = (bit<64>)(bit<32>)(s + t); }
        else if (op == 13) { hdr.op.r = (bit<64>)(bit<32>)(s >> x); }
        else if (op == 14) { hdr.op.s = s |+| t; }
        else if (op == 15) { hdr.op.s = s |-| t; }
        else if (op == 16) { hdr.op.r = a ++ b; }
        else if (op == 17) { hdr.op.r = (bit<64>)c[47:16]; }
        else if (op == 18) { hdr.op.r = (bit<64>)(bit<8>)a; }
        else if (op == 19) { hdr.op.r = c > d ? c : d; }
        else if (op == 20) { hdr.op.r = ((a == b || c != d) && !(hdr.op.x16 < 5)) ? 64w1 : 64w0; }
        else if (op == 21) { hdr.op.r = hdr.op.m ++ hdr.op.x16; }
        else if (op == 22) { hdr.op.r = (bit<64>)((int<64>)c >> 3); }
        else if (op == 23) { hdr.op.r = (bit<64>)(-a); }
        else if (op == 24) { hdr.op.r[15:8] = x; }
        else if (op == 25) { hdr.op.w = c ++ d; hdr.op.r = (hdr.op.w ^ (d ++ c))[95:32]; }
        else if (op == 26) { hdr.op.f5 = (bit<5>)a; hdr.op.f11 = (bit<11>)b + (bit<11>)hdr.op.f5; }
        else if (op == 27) { meta.f33 = (bit<33>)a + (bit<33>)b; hdr.op.r = (bit<64>)meta.f33; }
        else if (op == 28) { meta.flag = (bit<1>)(a > b); hdr.op.r = (bit<64>)meta.flag; }
        else if (op == 29) { meta.s7 = (int<7>)(bit<7>)x; hdr.op.r = (bit<64>)(bit<32>)(int<32>)meta.s7; }
        else if (op == 30) { hdr.op.r = (bit<64>)((a * b) >> 16) ^ ((c + d) & 0xFFFF0000FFFF0000); }
        else if (op == 31) { hdr.op.s = s * t - (s << 2); }
        else if (op == 32) { hdr.op.r = ((bit<32>)(bit<1>)(c == d)) ++ 32w7 == 64w7 ? c : 64w1 << x; }
        else if (op == 33) { hdr.op.w = hdr.op.w & (c ++ d) | 128w1; hdr.op.r = hdr.op.w == 128w1 ? 64w1 : 64w0; }
        else if (op == 34) { hdr.op.w = (bit<128>)c << 64 | (bit<128>)d; }
        else if (op == 35) { hdr.op.r = c |+| d; }
        else if (op == 36) { hdr.op.r = c |-| d; }
        else if (op == 37) { hdr.op.r = s == t ? 64w1 : (s <= t ? 64w2 : 64w3); }
        else if (op == 38) { hdr.op.r = (bit<64>)(bit<32>)(-s); }
        else if (op == 39) { hdr.op.m = hdr.op.m + (bit<48>)hdr.op.x16; hdr.op.r = (bit<64>)hdr.op.m; }
        std.egress_spec = std.ingress_port;
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control NoUpdate(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.op); } }

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
