control CsaudIngressDeparser(packet_out packet, inout headers_t hdr, in metadata_t meta,
                             in ingress_intrinsic_metadata_for_deparser_t to_deparser) {
    @name(".overflow_alarm_t")
    Digest<overflow_alarm_t>(DIGEST_ALARM) overflow_alarm;
#if __TARGET_TOFINO__ == 2
    Mirror(MIRROR_LOSS) mirror_loss;
#endif

    apply {
        if (to_deparser.digest_type == DIGEST_ALARM) {
            overflow_alarm.pack({ meta.alarm.port, meta.alarm.depth, meta.alarm.path_id, meta.alarm.kind,
                                  meta.now });
        }
#if __TARGET_TOFINO__ == 2
        if (to_deparser.mirror_type == MIRROR_LOSS) {
            mirror_loss.emit<made_t>(meta.session, meta.made);
        }
#endif
        packet.emit(meta.bridged);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.arp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
        packet.emit(hdr.bth);
        packet.emit(hdr.deth);
        packet.emit(hdr.csa);
    }
}

control CsaudEgressDeparser(packet_out packet, inout headers_t hdr, in egress_metadata_t meta,
                            in egress_intrinsic_metadata_for_deparser_t to_deparser) {
    UpdateIpv4() update_ipv4;
    Mirror(MIRROR_LOSS) mirror_loss;
#if __TARGET_TOFINO__ == 1
    Mirror(MIRROR_ALARM) mirror_alarm;
#endif

    apply {
        update_ipv4.apply(hdr, meta);
        if (to_deparser.mirror_type == MIRROR_LOSS) {
            mirror_loss.emit<made_t>(meta.session, meta.made);
        }
#if __TARGET_TOFINO__ == 1
        if (to_deparser.mirror_type == MIRROR_ALARM) {
            mirror_alarm.emit<overflow_alarm_h>(meta.session, meta.alarm);
        }
        packet.emit(meta.alarm);
#endif
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.arp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
        packet.emit(hdr.bth);
        packet.emit(hdr.deth);
        packet.emit(hdr.csa);
        packet.emit(hdr.icrc);
    }
}
