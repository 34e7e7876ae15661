// CSA-UD's switch for v1model targets. This page is the table of contents: one control a file, in the order in
// which a packet meets them.
#include <core.p4>
#include <v1model.p4>

#define CPU_PORT 510
#define RECIRCULATION_PORT 127   // no interface is behind it: only clones go there, and come round again
#define BOUNCE_SESSION 1         // clone session, whose one replica is at RECIRCULATION_PORT

#include "../shared/constants.p4"
#include "../shared/sizes.p4"
#include "../shared/headers.p4"
#include "metadata.p4"
#include "random.p4"
#include "occupancy.p4"
#include "made_loss.p4"
#include "parser.p4"
#include "checksum.p4"
#include "punt.p4"
#include "classify.p4"
#include "edge.p4"
#include "route.p4"
#include "spray.p4"
#include "fault.p4"
#include "congestion.p4"
#include "ecn.p4"
#include "loss_signal.p4"
#include "bounced_copy.p4"
#include "icrc.p4"
#include "telemetry.p4"
#include "deparser.p4"

control CsaudIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Punt() punt;
    Classify() classify;
    Edge() edge;
    Route() route;
    Spray() spray;
    Fault() fault;
    Congestion() congestion;
    Arrival() arrival;
    Ecn() ecn;
    LossSignal() loss_signal;

    apply {
        if (hdr.packet_out.isValid()) {
            standard_metadata.egress_spec = hdr.packet_out.egress_port;
            standard_metadata.priority = PRIORITY_LOSS;
            hdr.packet_out.setInvalid();
            exit;
        }
        punt.apply(hdr, standard_metadata);
        classify.apply(hdr, meta, standard_metadata);
        if (standard_metadata.instance_type != INSTANCE_RECIRCULATED) {
            meta.now = standard_metadata.ingress_global_timestamp;   // 0 for what comes round
            edge.apply(hdr, meta, standard_metadata);
        }
        route.apply(hdr, meta, standard_metadata);
        spray.apply(hdr, meta, standard_metadata);
        if (standard_metadata.instance_type != INSTANCE_RECIRCULATED) {
            fault.apply(hdr, meta, standard_metadata);   // a LOSS made here is not yet on the wire
        }
        congestion.apply(hdr, meta, standard_metadata);
        if (meta.admitted == 1) {
            ecn.apply(hdr, meta, standard_metadata);
        }
        loss_signal.apply(hdr, meta, standard_metadata);
        arrival.apply(hdr, meta, standard_metadata);
    }
}

control CsaudEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Departure() departure;
    BouncedCopy() bounced_copy;
    Icrc() icrc;
    Telemetry() telemetry;

    apply {
        if (standard_metadata.instance_type == INSTANCE_INGRESS_CLONE) {
            bounced_copy.apply(hdr, meta);
        } else {
            departure.apply(hdr, meta, standard_metadata);
            telemetry.apply(hdr, meta, standard_metadata);
            if (meta.with_icrc == 1) {
                icrc.apply(hdr);
            }
        }
    }
}

V1Switch(CsaudParser(), VerifyIpv4(), CsaudIngress(), CsaudEgress(), UpdateIpv4(), CsaudDeparser()) main;
