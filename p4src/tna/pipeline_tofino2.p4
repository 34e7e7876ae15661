// The way of a packet through Tofino 2. What there will be no room for becomes a mirrored copy before the queue, and
// comes to egress as the LOSS to be. A packet's way ends by no `exit`: the compiler makes of it a bit that all that
// follows must read, one stage later.
// What is read last where a packet's way ends shares no container with what is written later: p4c 1.2.5.16 wants the
// reader before the writer then, and ends with an internal error because no way leads from one to the other.
@pa_no_overlay("ingress", "hdr.packet_out.egress_port")
@pa_no_overlay("ingress", "meta.reason")
@pa_auto_init_metadata   // a field that nobody has written is 0, as on v1model
control CsaudIngress(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t intrinsic,
                     in ingress_intrinsic_metadata_from_parser_t parsed,
                     inout ingress_intrinsic_metadata_for_deparser_t to_deparser,
                     inout ingress_intrinsic_metadata_for_tm_t to_tm, in ghost_intrinsic_metadata_t ghost) {
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
    LossSignal() loss_signal;

    apply {
        meta.bridged.ingress_port = intrinsic.ingress_port;
        meta.now = parsed.global_tstamp[39:8];
        flow_hashes.apply(hdr, meta);
        kind.apply(hdr, meta);
        if (hdr.packet_out.isValid()) {
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
                        spray.apply(hdr, meta, ghost, to_deparser, to_tm);
                        if (meta.forwarded == 1) {
                            congestion.apply(hdr, meta, to_tm, to_deparser);   // first: fault injection ends later
                            fault.apply(hdr, meta, to_tm, to_deparser);
                        }
                    }
                }
            }
        }
        // Three bits and not one that both would write: the second writer would wait for the first.
        if ((meta.no_room == 1 || meta.bridged.lost == 1) && meta.silent == 0) {
            meta.loss.kind = meta.kind;
            meta.made.back_port = intrinsic.ingress_port;
            loss_signal.apply(hdr, meta.loss, meta.made);
            if (meta.loss.told == 1) {
                meta.session = LOSS_SESSION;
                to_deparser.mirror_type = MIRROR_LOSS;
                to_deparser.mirror_egress_port = meta.loss.out_port;
                to_deparser.mirror_qid = (QueueId_t)meta.made.priority;
                to_deparser.mirror_ingress_cos = meta.made.priority;
            }
            to_deparser.drop_ctl = 1;
        }
    }
}

control CsaudEgress(inout headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t intrinsic,
                    in egress_intrinsic_metadata_from_parser_t parsed,
                    inout egress_intrinsic_metadata_for_deparser_t to_deparser,
                    inout egress_intrinsic_metadata_for_output_port_t to_port) {
    Departure() departure;
    Ecn() ecn;
    MadeLoss() made_loss;
    BouncedCopy() bounced_copy;
    Icrc() icrc;
    Telemetry() telemetry;
    ToCpu() to_cpu;
    Hash<bit<11>>(HashAlgorithm_t.IDENTITY) port_and_path;

    apply {
        if (meta.bridged.isValid()) {
            meta.kind = meta.bridged.kind;
            meta.by_path = port_and_path.get({ intrinsic.egress_port[6:0], hdr.csa.path_id[3:0] });
            meta.depth = intrinsic.enq_qdepth[15:0];
            departure.apply(hdr, meta);
            ecn.apply(hdr, meta, intrinsic);
            to_cpu.apply(hdr, meta, intrinsic);
        } else {
            made_loss.apply(hdr, meta, intrinsic);
            if (meta.made.with_icrc == 1) {
                icrc.apply(hdr, meta);
            }
            if (meta.made.both == 1) {
                bounced_copy.apply(meta);
                meta.session = LOSS_SESSION;
                to_deparser.mirror_type = MIRROR_LOSS;
                to_deparser.mirror_egress_port = meta.made.back_port;
                to_deparser.mirror_qid = (QueueId_t)meta.made.priority;
                to_deparser.mirror_ingress_cos = meta.made.priority;
            }
        }
        telemetry.apply(hdr, meta, intrinsic);
    }
}

Pipeline(CsaudIngressParser(), CsaudIngress(), CsaudIngressDeparser(),
         CsaudEgressParser(), CsaudEgress(), CsaudEgressDeparser(), Occupancy()) pipe;

Switch(pipe) main;
