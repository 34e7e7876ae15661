// The second LOSS of BOTH: a clone of the packet as it came, which becomes a LOSS to the sender and goes round once
// more, because only ingress can route it.
control BouncedCopy(inout headers_t hdr, inout metadata_t meta) {
    apply {
        make_loss(hdr, meta.kept, meta.udp_at, meta.loss_dscp, meta.with_icrc);
        turn_back(hdr);
        truncate((bit<32>)meta.kept);
        recirculate_preserving_field_list(KEPT_BY_CLONES);
    }
}
