// Tables of every match kind, with entries of the program's own, direct counters, action profiles and selectors.
#include <core.p4>
#include <v1model.p4>

header key_t { bit<8> which; bit<32> k; bit<16> j; bit<128> wide; bit<8> r; bit<32> data; bit<64> more; }

struct headers_t { key_t key; }
struct metadata_t { bit<16> index; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.key); transition accept; }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    direct_counter(CounterType.packets_and_bytes) hits;
    // More cells than tables: simple_switch built with NDEBUG writes to memory beyond a counter's last cell.
    counter(16, CounterType.packets_and_bytes) seen;
    action_profile(8) profile;
    action_selector(HashAlgorithm.crc16, 16, 16) selected;
    action_selector(HashAlgorithm.identity, 16, 16) by_index;

    action set_r(bit<8> r) { hdr.key.r = r; }
    action set_data(bit<32> data, bit<64> more) { hdr.key.data = data; hdr.key.more = more; }
    action set_wide(bit<128> wide) { hdr.key.wide = wide; }
    action missed() { hdr.key.r = 0xEE; }
    action other() { hdr.key.r = hdr.key.r + 1; }

    table exact_one {
        key = { hdr.key.k: exact; hdr.key.j: exact; }
        actions = { set_r; set_data; set_wide; missed; }
        default_action = missed();
        counters = hits;
        size = 4;
    }
    table exact_wide {
        key = { hdr.key.wide: exact; }
        actions = { set_r; missed; }
        const default_action = missed();
        size = 16;
    }
    table longest {
        key = { hdr.key.j: exact; hdr.key.k: lpm; }
        actions = { set_r; missed; }
        const default_action = missed();
        size = 64;
    }
    table masked {
        key = { hdr.key.k: ternary; hdr.key.j: exact; }
        actions = { set_r; missed; }
        const default_action = missed();
        size = 64;
    }
    table ranged {
        key = { hdr.key.k: range; hdr.key.j: ternary; }
        actions = { set_r; missed; }
        const default_action = missed();
        size = 64;
    }
    table maybe {
        key = { hdr.key.k: optional; hdr.key.j: optional; }
        actions = { set_r; missed; }
        const default_action = missed();
        size = 64;
    }
    table constant {
        key = { hdr.key.k: ternary; }
        actions = { set_r; missed; }
        const entries = {
            0x10 &&& 0xF0: set_r(1);
            0x12: set_r(2);
            _: set_r(3);
        }
        const default_action = missed();
    }
    table constant_prefix {
        key = { hdr.key.k: lpm; }
        actions = { set_r; missed; }
        const entries = { 0x0A000000 &&& 0xFF000000: set_r(8); 0x0A010000 &&& 0xFFFF0000: set_r(16); }
        const default_action = missed();
    }
    table indirect {
        key = { hdr.key.k: exact; }
        actions = { set_r; set_data; }
        implementation = profile;
        size = 16;
    }
    table hashed {
        key = { hdr.key.k: exact; hdr.key.j: selector; hdr.key.wide: selector; }
        actions = { set_r; }
        implementation = selected;
        size = 16;
    }
    table chosen {
        key = { hdr.key.k: exact; hdr.key.j: selector; }
        actions = { set_r; set_data; }
        implementation = by_index;
        size = 16;
    }
    table sliced {
        key = { hdr.key.k & 0xFF0: exact; hdr.key.j[7:0]: exact; }
        actions = { set_r; missed; }
        const default_action = missed();
        size = 16;
    }
    table branches {
        key = { hdr.key.k: exact; }
        actions = { set_r; other; NoAction; }
        const default_action = NoAction();
        size = 16;
    }

    apply {
        std.egress_spec = std.ingress_port;
        bit<8> which = hdr.key.which;
        seen.count((bit<32>)which);
        if (which == 0) { exact_one.apply(); }
        else if (which == 1) { exact_wide.apply(); }
        else if (which == 2) { longest.apply(); }
        else if (which == 3) { masked.apply(); }
        else if (which == 4) { ranged.apply(); }
        else if (which == 5) { maybe.apply(); }
        else if (which == 6) { constant.apply(); }
        else if (which == 7) { constant_prefix.apply(); }
        else if (which == 8) { indirect.apply(); }
        else if (which == 9) { hashed.apply(); }
        else if (which == 10) { chosen.apply(); }
        else if (which == 12) { sliced.apply(); }
        else if (which == 11) {
            if (branches.apply().hit) { hdr.key.data = 1; } else { hdr.key.data = 2; }
        }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control NoUpdate(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.key); } }

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
