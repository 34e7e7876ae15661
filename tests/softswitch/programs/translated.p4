// Types that controllers see in another width, and a digest that no packet makes.
#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("example.org/port", 16) type bit<9> port_t;
@p4runtime_translation("example.org/place", 32) type bit<9> place_t;
@p4runtime_translation("example.org/address", 64) type bit<48> address_t;

header frame_t { address_t dst; bit<48> src; bit<16> kind; }
header port_h { bit<7> pad; port_t port; }
struct headers_t { frame_t frame; port_h port; }
struct metadata_t { bit<1> unused; }
struct silent_t { bit<48> src; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.frame); packet.extract(hdr.port); transition accept; }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action to(place_t port) { std.egress_spec = (bit<9>)port; }
    table ports {
        key = { hdr.port.port: exact; }
        actions = { to; NoAction; }
        default_action = NoAction();
    }
    table choices {
        key = { hdr.port.port: optional; }
        actions = { to; NoAction; }
        default_action = NoAction();
    }
    table addresses {
        key = { hdr.frame.dst: exact; }
        actions = { to; NoAction; }
        default_action = NoAction();
    }
    apply {
        std.egress_spec = 1;
        if (hdr.frame.kind == 1) { ports.apply(); }
        else if (hdr.frame.kind == 2) { choices.apply(); }
        else if (hdr.frame.kind == 3) { addresses.apply(); }
        if (1 == 0) { digest<silent_t>(1, { hdr.frame.src }); }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control NoUpdate(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.frame); packet.emit(hdr.port); } }

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
