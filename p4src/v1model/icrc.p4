// InfiniBand's invariant CRC over a LOSS of headers alone, so that an adapter takes it for a whole datagram: CRC-32
// over eight bytes of ones, in the place of a local route header, and the packet from its IP header on with ones
// wherever a router may write (annex A17 of the InfiniBand specification). Computed last, when nothing changes any more.
control Icrc(inout headers_t hdr) {
    bit<32> crc = 0;

    action over_ipv4() {
        hash(crc, HashAlgorithm.crc32, (bit<32>)0, {
            64w0xFFFFFFFFFFFFFFFF,
            hdr.ipv4.version, hdr.ipv4.ihl, 8w0xFF, hdr.ipv4.total_length,
            hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.fragment_offset,
            8w0xFF, hdr.ipv4.protocol, 16w0xFFFF, hdr.ipv4.src, hdr.ipv4.dst,
            hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length, 16w0xFFFF,
            hdr.bth.opcode, hdr.bth.solicited, hdr.bth.migrated, hdr.bth.pad_count, hdr.bth.version,
            hdr.bth.pkey, 8w0xFF, hdr.bth.dst_qp, hdr.bth.ack_req, hdr.bth.psn,
            hdr.deth.qkey, hdr.deth.reserved, hdr.deth.src_qp,
            hdr.csa.magic_version, hdr.csa.type, hdr.csa.flags, hdr.csa.spray, hdr.csa.cls, hdr.csa.ordered,
            hdr.csa.attempt, hdr.csa.epoch, hdr.csa.comm, hdr.csa.step, hdr.csa.coll_seq, hdr.csa.src_rank,
            hdr.csa.chunk, hdr.csa.pkt_idx, hdr.csa.pkt_total, hdr.csa.path_id, hdr.csa.path_seq, hdr.csa.tx_ts },
            64w0x100000000);
    }

    action over_ipv6() {
        hash(crc, HashAlgorithm.crc32, (bit<32>)0, {
            64w0xFFFFFFFFFFFFFFFF,
            hdr.ipv6.version, 28w0xFFFFFFF, hdr.ipv6.payload_length, hdr.ipv6.next_header,
            8w0xFF, hdr.ipv6.src, hdr.ipv6.dst,
            hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length, 16w0xFFFF,
            hdr.bth.opcode, hdr.bth.solicited, hdr.bth.migrated, hdr.bth.pad_count, hdr.bth.version,
            hdr.bth.pkey, 8w0xFF, hdr.bth.dst_qp, hdr.bth.ack_req, hdr.bth.psn,
            hdr.deth.qkey, hdr.deth.reserved, hdr.deth.src_qp,
            hdr.csa.magic_version, hdr.csa.type, hdr.csa.flags, hdr.csa.spray, hdr.csa.cls, hdr.csa.ordered,
            hdr.csa.attempt, hdr.csa.epoch, hdr.csa.comm, hdr.csa.step, hdr.csa.coll_seq, hdr.csa.src_rank,
            hdr.csa.chunk, hdr.csa.pkt_idx, hdr.csa.pkt_total, hdr.csa.path_id, hdr.csa.path_seq, hdr.csa.tx_ts },
            64w0x100000000);
    }

    apply {
        if (hdr.ipv6.isValid()) {
            over_ipv6();
        } else {
            over_ipv4();
        }
        hdr.icrc.setValid();
        hdr.icrc.value = crc[7:0] ++ crc[15:8] ++ crc[23:16] ++ crc[31:24];
    }
}
