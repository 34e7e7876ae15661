// IPv4's header checksum: verified by the parser (parser.p4), made anew behind the last change, where the packet
// leaves. iCRC is the hosts' own: it leaves out what a switch may change (TOS, TTL, this checksum).
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
