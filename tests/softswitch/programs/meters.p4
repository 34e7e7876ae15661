// Meters: indirect ones of packets and of bytes, and a direct one; the colour is in the frame.
#include <core.p4>
#include <v1model.p4>

header op_t { bit<8> op; bit<8> index; bit<8> color; bit<8> direct; }
struct headers_t { op_t op; }
struct metadata_t { bit<2> color; bit<2> direct; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.op); transition accept; }
}
control NoVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    meter(8, MeterType.packets) by_packet;
    meter(8, MeterType.bytes) by_byte;
    direct_meter<bit<2>>(MeterType.packets) by_entry;
    action seen(bit<8> mark) { by_entry.read(meta.direct); hdr.op.direct = mark; }
    action unseen() { hdr.op.direct = 0x77; }
    table entries {
        key = { hdr.op.index: exact; }
        actions = { seen; unseen; }
        default_action = unseen();
        meters = by_entry;
        size = 16;
    }
    apply {
        std.egress_spec = std.ingress_port;
        meta.color = 3;
        if (hdr.op.op == 1) { by_packet.execute_meter((bit<32>)hdr.op.index, meta.color); }
        else if (hdr.op.op == 2) { by_byte.execute_meter((bit<32>)hdr.op.index, meta.color); }
        else if (hdr.op.op == 3) {
            entries.apply();
            hdr.op.direct = hdr.op.direct | ((bit<8>)meta.direct << 6);
        }
        hdr.op.color = (bit<8>)meta.color;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) { apply { } }
control NoUpdate(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.op); } }

V1Switch(P(), NoVerify(), I(), E(), NoUpdate(), D()) main;
