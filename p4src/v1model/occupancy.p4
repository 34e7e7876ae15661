// The occupancy shadow: how many packets of ours wait for a port. The queue's own depth is not visible before
// egress, so ingress keeps count: one more when it admits a packet, one less when egress takes it out.
// The register is shared by both pipelines, so it lives at the top level.
register<bit<16>>(PORTS) occupancy;

// Claims a place in the shadow of `port` below `limit`; `depth` is what was there before.
action claim_room(in bit<7> port, in bit<16> limit, out bit<16> depth, out bit<1> admitted) {
    occupancy.read(depth, (bit<32>)port);
    admitted = depth < limit ? 1w1 : 1w0;
    occupancy.write((bit<32>)port, depth + (bit<16>)admitted);
}
