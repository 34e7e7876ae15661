// CSA-UD's switch for Tofino (tna) and Tofino 2 (t2na). This page is the table of contents: one control a file, by
// the names of ../v1model. What the two chips do differently is in the files that end in their names; which chip is
// meant is asked here, in spray.p4 for the mode that needs queue depths before the queue, and in deparser.p4.
#include <core.p4>
#if __TARGET_TOFINO__ == 2
#include <t2na.p4>
#else
#include <tna.p4>
#endif

#include "../shared/constants.p4"
#include "../shared/sizes.p4"
#include "../shared/headers.p4"
#if __TARGET_TOFINO__ == 2
#include "target_tofino2.p4"
#else
#include "target_tofino1.p4"
#endif
#include "metadata.p4"
#include "random.p4"
#include "parser.p4"
#include "checksum.p4"
#include "punt.p4"
#include "classify.p4"
#include "edge.p4"
#include "route.p4"
#if __TARGET_TOFINO__ == 2
#include "occupancy.p4"
#endif
#include "spray.p4"
#include "fault.p4"
#if __TARGET_TOFINO__ == 2
#include "congestion_tofino2.p4"
#else
#include "congestion_tofino1.p4"
#endif
#include "ecn.p4"
#include "loss_signal.p4"
#include "made_loss.p4"
#include "bounced_copy.p4"
#include "icrc.p4"
#include "telemetry.p4"
#include "deparser.p4"
#if __TARGET_TOFINO__ == 2
#include "pipeline_tofino2.p4"
#else
#include "pipeline_tofino1.p4"
#endif
