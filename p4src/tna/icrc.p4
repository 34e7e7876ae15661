// InfiniBand's invariant CRC over a LOSS of headers alone, so that an adapter takes it for a whole datagram: CRC-32
// over eight bytes of ones, in the place of a local route header, and the packet from its IPv4 header on with ones
// wherever a router may write (annex A17 of the InfiniBand specification). Computed last, when nothing changes any more.
// One hash cannot take all of its fields. A CRC is linear, so it is the sum of two: one of the packet up to BTH, with
// the constants of the CRC, and zeros behind; one of the rest, with zeros before, where neither matters.
control Icrc(inout headers_t hdr, inout egress_metadata_t meta) {
    Hash<bit<32>>(HashAlgorithm_t.CUSTOM,
        CRCPolynomial<bit<32>>(32w0x04C11DB7, true, false, false, 32w0xFFFFFFFF, 32w0xFFFFFFFF)) of_network;
    Hash<bit<32>>(HashAlgorithm_t.CUSTOM,
        CRCPolynomial<bit<32>>(32w0x04C11DB7, true, false, false, 32w0, 32w0)) of_transport;

    // One a table: no more than 32 bits come out of the hash units for one.
    action network_part() {
        meta.crc_a = of_network.get({
            64w0xFFFFFFFFFFFFFFFF,
            hdr.ipv4.version, hdr.ipv4.ihl, 8w0xFF, hdr.ipv4.total_length,
            hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.fragment_offset,
            8w0xFF, hdr.ipv4.protocol, 16w0xFFFF, hdr.ipv4.src, hdr.ipv4.dst,
            hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length, 16w0xFFFF,
            hdr.bth.opcode, hdr.bth.solicited, hdr.bth.migrated, hdr.bth.pad_count, hdr.bth.version,
            hdr.bth.pkey, 8w0xFF, hdr.bth.dst_qp, hdr.bth.ack_req, hdr.bth.psn,
            64w0, 128w0, 128w0 });
    }

    action transport_part() {
        meta.crc_b = of_transport.get({
            hdr.deth.qkey, hdr.deth.reserved, hdr.deth.src_qp,
            hdr.csa.magic_version, hdr.csa.type, hdr.csa.flags, hdr.csa.spray, hdr.csa.cls, hdr.csa.ordered,
            hdr.csa.attempt, hdr.csa.epoch, hdr.csa.comm, hdr.csa.step, hdr.csa.coll_seq, hdr.csa.src_rank,
            hdr.csa.chunk, hdr.csa.pkt_idx, hdr.csa.pkt_total, hdr.csa.path_id, hdr.csa.path_seq, hdr.csa.tx_ts });
    }

    apply {
        network_part();
        transport_part();
        meta.crc_a = meta.crc_a ^ meta.crc_b;
        hdr.icrc.setValid();
        hdr.icrc.value = meta.crc_a[7:0] ++ meta.crc_a[15:8] ++ meta.crc_a[23:16] ++ meta.crc_a[31:24];
    }
}
