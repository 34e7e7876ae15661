// The way of a packet through Tofino. What the traffic manager has no room for comes to egress deflected, becomes a
// mirrored copy, and comes to egress once more as the LOSS to be.
@pa_auto_init_metadata   // a field that nobody has written is 0, as on v1model
control CsaudIngress(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t intrinsic,
                     in ingress_intrinsic_metadata_from_parser_t parsed,
                     inout ingress_intrinsic_metadata_for_deparser_t to_deparser,
                     inout ingress_intrinsic_metadata_for_tm_t to_tm) {
    FlowHashes() flow_hashes;
    Kind() kind;
    Punt() punt;
    Classify() classify;
    Edge() edge;
    Hop() hop;
    Route() route;
    Spray() spray;
    Chance() chance;
    Fault() fault;
    Congestion() congestion;

    apply {
        meta.bridged.ingress_port = intrinsic.ingress_port;
        meta.now = parsed.global_tstamp[39:8];
        flow_hashes.apply(hdr, meta);
        kind.apply(hdr, meta);
        if (meta.alarm.isValid()) {   // come round from egress, to be told
            to_deparser.digest_type = DIGEST_ALARM;
            to_deparser.drop_ctl = 1;
        } else if (hdr.packet_out.isValid()) {
            to_tm.ucast_egress_port = hdr.packet_out.egress_port;
            to_tm.qid = (QueueId_t)PRIORITY_LOSS;
        } else {
            punt.apply(hdr, meta, intrinsic, to_tm);
            if (meta.punted == 0) {
                meta.bridged.kind = meta.kind;
                classify.apply(hdr, meta, intrinsic, to_tm);
                hop.apply(hdr, meta);
                chance.apply(meta);
                edge.apply(hdr, meta, intrinsic, to_deparser);
                if (meta.refused == 0) {
                    route.apply(hdr, meta, to_deparser);
                    if (meta.discard == 0) {
                        spray.apply(hdr, meta, to_deparser, to_tm);
                        if (meta.forwarded == 1) {
                            fault.apply(hdr, meta, to_tm, to_deparser);
                            congestion.apply(hdr, meta, to_tm);
                        }
                    }
                }
            }
        }
    }
}

control CsaudEgress(inout headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t intrinsic,
                    in egress_intrinsic_metadata_from_parser_t parsed,
                    inout egress_intrinsic_metadata_for_deparser_t to_deparser,
                    inout egress_intrinsic_metadata_for_output_port_t to_port) {
    Alarm() congestion;
    Departure() departure;
    Ecn() ecn;
    LossSignal() loss_signal;
    MadeLoss() made_loss;
    BouncedCopy() bounced_copy;
    Icrc() icrc;
    Telemetry() telemetry;
    ToCpu() to_cpu;
    Hash<bit<11>>(HashAlgorithm_t.IDENTITY) port_and_path;
    Hash<bit<9>>(HashAlgorithm_t.IDENTITY) lost_port_and_kind;
    Hash<bit<11>>(HashAlgorithm_t.IDENTITY) lost_port_and_path;
    Hash<bit<10>>(HashAlgorithm_t.IDENTITY) session_of_port;
    Hash<bit<10>>(HashAlgorithm_t.IDENTITY) session_of_back_port;

    apply {
        if (meta.bridged.isValid()) {
            meta.kind = meta.bridged.kind;
            meta.path_id = hdr.csa.path_id;
            meta.by_path = port_and_path.get({ intrinsic.egress_port[6:0], hdr.csa.path_id[3:0] });
            meta.now = parsed.global_tstamp[39:8];
            meta.depth = intrinsic.enq_qdepth[15:0];
            if (intrinsic.deflection_flag == 1 || meta.bridged.lost == 1) {
                meta.loss.kind = meta.bridged.kind;
                meta.loss.port = meta.bridged.egress_port;
                meta.loss.by_kind = lost_port_and_kind.get({ meta.bridged.egress_port[6:0], meta.bridged.kind });
                meta.loss.by_path = lost_port_and_path.get({ meta.bridged.egress_port[6:0], hdr.csa.path_id[3:0] });
                meta.made.back_port = meta.bridged.ingress_port;
                loss_signal.apply(hdr, meta.loss, meta.made);
                if (meta.loss.told == 1) {
                    meta.session = session_of_port.get({ LOSS_SESSIONS, meta.loss.out_port });
                    to_deparser.mirror_type = MIRROR_LOSS;
                }
                to_deparser.drop_ctl = 1;
                exit;
            }
            congestion.apply(hdr, meta, intrinsic, to_deparser);
            departure.apply(hdr, meta);
            ecn.apply(hdr, meta, intrinsic);
            to_cpu.apply(hdr, meta, intrinsic);
        } else if (meta.made.isValid()) {
            made_loss.apply(hdr, meta, intrinsic);
            if (meta.made.with_icrc == 1) {
                icrc.apply(hdr, meta);
            }
            if (meta.made.both == 1) {
                bounced_copy.apply(meta);
                meta.session = session_of_back_port.get({ LOSS_SESSIONS, meta.made.back_port });
                to_deparser.mirror_type = MIRROR_LOSS;
            }
        }
        telemetry.apply(hdr, meta, intrinsic);
    }
}

Pipeline(CsaudIngressParser(), CsaudIngress(), CsaudIngressDeparser(),
         CsaudEgressParser(), CsaudEgress(), CsaudEgressDeparser()) pipe;

Switch(pipe) main;
