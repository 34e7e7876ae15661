// BMv2 tells the depth of a queue only behind it, so ingress keeps count: one more when it admits a packet, one less
// when egress takes it out. Two shadows a port, so that other traffic cannot take the room of CSA: `shadow` is the
// port, with 128 more for other traffic. Both share a queue, whose end is at their sum.
// The registers are shared by both pipelines, so they live at the top level.
register<bit<16>>(SHADOWS) occupancy;
register<bit<64>>(PORTS) loss_due;   // when LOSS will have used up its share of the link, 2^-16 microseconds

// Claims a place in a shadow below `limit`, and below `most` in both of the port; `depth` and `waiting` are what
// was there before.
action claim_room(in bit<8> shadow, in bit<16> limit, in bit<16> most, out bit<16> depth, out bit<16> waiting,
                  out bit<1> admitted) {
    bit<16> others;
    occupancy.read(depth, (bit<32>)shadow);
    occupancy.read(others, (bit<32>)(shadow ^ 0x80));
    waiting = depth |+| others;
    admitted = (depth < limit && waiting < most) ? 1w1 : 1w0;
    occupancy.write((bit<32>)shadow, depth + (bit<16>)admitted);
}

// LOSS is served before DATA, but not without end: a leaky bucket of LOSS_BURST bytes (GCRA, ITU-T I.371), each byte
// of which takes `byte_time` to leak. 0: no bound.
action ask_share(in bit<7> port, in bit<32> byte_time, in bit<48> now, out bit<1> within) {
    bit<64> due;
    loss_due.read(due, (bit<32>)port);
    bit<64> at = (bit<64>)now << 16;
    within = (byte_time == 0 || due <= at + LOSS_BURST * (bit<64>)byte_time) ? 1w1 : 1w0;
}

action take_share(in bit<7> port, in bit<16> octets, in bit<32> byte_time, in bit<48> now) {
    bit<64> due;
    loss_due.read(due, (bit<32>)port);
    bit<64> at = (bit<64>)now << 16;
    bit<64> start = due > at ? due : at;
    loss_due.write((bit<32>)port, start + (bit<64>)octets * (bit<64>)byte_time);
}
