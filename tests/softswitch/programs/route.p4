// Source routing: each switch takes the first byte of `route` as its egress port; the queue is written down on the way.
#include <core.p4>
#include <v1model.p4>

header route_t {
    bit<64> route;
    bit<8> priority;
    bit<8> hops;
    bit<16> tag;
    bit<16> enq_depth;     // of the last switch
    bit<16> deq_depth;
    bit<32> waited_us;
    bit<48> ingress_us;
    bit<48> egress_us;
    bit<8> shadow;         // packets that the program itself counts in the queue of its port
}

struct headers_t { route_t route; }
struct metadata_t { }

register<bit<8>>(256) depth;

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.route); transition accept; }
}

control Nothing(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        bit<8> port = hdr.route.route[63:56];
        std.egress_spec = (bit<9>)port;
        std.priority = (bit<3>)hdr.route.priority;
        hdr.route.route = hdr.route.route << 8;
        hdr.route.hops = hdr.route.hops + 1;
        hdr.route.ingress_us = std.ingress_global_timestamp;
        bit<8> n;
        depth.read(n, (bit<32>)port);
        depth.write((bit<32>)port, n + 1);
        hdr.route.shadow = n;
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        hdr.route.enq_depth = (bit<16>)std.enq_qdepth;
        hdr.route.deq_depth = (bit<16>)std.deq_qdepth;
        hdr.route.waited_us = std.deq_timedelta;
        hdr.route.egress_us = std.egress_global_timestamp;
        bit<8> n;
        depth.read(n, (bit<32>)std.egress_port);
        depth.write((bit<32>)std.egress_port, n - 1);
    }
}

control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.route); } }

V1Switch(P(), Nothing(), I(), E(), Nothing(), D()) main;
