// One of each entity of P4Runtime: a learning switch with meters, a register, a value set, and tables of every kind.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header tag_t {
    bit<16> tag;
}

struct headers_t {
    ethernet_t ethernet;
    tag_t tag;
}

struct metadata_t {
    bit<2> color;
    bit<2> port_color;
    bit<8> class;
}

struct learned_t {
    bit<48> src;
    bit<9> port;
    bit<1> tagged;
}

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    value_set<bit<16>>(4) tags;

    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            tags: tagged;
            default: accept;
        }
    }
    state tagged {
        packet.extract(hdr.tag);
        transition accept;
    }
}

control Check(inout headers_t hdr, inout metadata_t meta) { apply { } }
control Fix(inout headers_t hdr, inout metadata_t meta) { apply { } }

control In(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    direct_meter<bit<2>>(MeterType.packets) limits;
    direct_counter(CounterType.packets_and_bytes) forwarded;
    direct_counter(CounterType.packets) classified;
    meter(16, MeterType.bytes) rates;
    register<bit<48>>(16) last_source;
    register<bit<8>>(4) spare;

    action learn() {
        digest<learned_t>(1, {hdr.ethernet.src, standard.ingress_port, (bit<1>)(hdr.tag.isValid() ? 1w1 : 1w0)});
    }
    action known() { }
    table sources {
        key = { hdr.ethernet.src: exact; }
        actions = { known; @defaultonly learn; }
        const default_action = learn();
        size = 1024;
        support_timeout = true;
    }

    action drop() { mark_to_drop(standard); }
    action to(bit<9> port) {
        standard.egress_spec = port;
        limits.read(meta.color);
    }
    action flood(bit<16> group) {
        standard.mcast_grp = group;
        limits.read(meta.color);
    }
    table destinations {
        key = { hdr.ethernet.dst: exact; }
        actions = { to; flood; @defaultonly drop; }
        default_action = drop();
        size = 262144;
        meters = limits;
        counters = forwarded;
    }

    action classify(bit<8> class) { meta.class = class; }
    table classes {
        key = { hdr.ethernet.type: ternary; }
        actions = { classify; }
        const entries = {
            0x8000 &&& 0x8000: classify(1);
            0x0800: classify(2);
        }
        counters = classified;
    }

    action mirror(bit<8> mark) {
        standard.egress_spec = standard.egress_spec;
        hdr.ethernet.dst[7:0] = mark;
        clone(CloneType.I2E, 5);
    }
    table filters {
        key = {
            meta.class: range;
            standard.ingress_port: optional;
            hdr.ethernet.src: ternary;
        }
        actions = { mirror; drop; NoAction; }
        size = 64;
    }

    action set_class(bit<8> class) { meta.class = class; }
    table always {
        actions = { set_class; @tableonly known; }
        default_action = set_class(0);
    }

    apply {
        always.apply();
        classes.apply();
        sources.apply();
        last_source.write((bit<32>)standard.ingress_port & 15, hdr.ethernet.src);
        rates.execute_meter((bit<32>)standard.ingress_port & 15, meta.port_color);
        destinations.apply();
        if (meta.color == 2 || meta.port_color == 2) {
            mark_to_drop(standard);
        }
        filters.apply();
    }
}

control Out(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }

control Emit(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.tag);
    }
}

V1Switch(P(), Check(), In(), Out(), Fix(), Emit()) main;
