// IPv4's header checksum: verified by the parser (parser.p4), made anew behind the last change, where the packet
// leaves. iCRC is the hosts' own: it leaves out what a switch may change (TOS, TTL, this checksum).
// A header with options is not parsed to its end: its checksum is not verified, and mended where TTL goes down, so
// that a wrong one stays wrong until the receiver sees it. Nothing else of such a header is changed by this program.
control UpdateIpv4(inout headers_t hdr, in egress_metadata_t meta) {
    Checksum() ipv4_checksum;

    apply {
        if (meta.flow.plain_ipv4 == 1) {
            hdr.ipv4.checksum = ipv4_checksum.update({
                hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_length,
                hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.fragment_offset, hdr.ipv4.ttl,
                hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst });
        }
    }
}

// RFC 1624, equation 3, for a TTL that is one less: HC + 0x0100 in ones' complement.
control MendIpv4(inout headers_t hdr) {
    apply {
        if (hdr.ipv4.checksum[15:8] == 0xFF || hdr.ipv4.checksum == 0xFEFF) {
            hdr.ipv4.checksum = hdr.ipv4.checksum + 0x0101;   // with the carry
        } else {
            hdr.ipv4.checksum = hdr.ipv4.checksum + 0x0100;
        }
    }
}
