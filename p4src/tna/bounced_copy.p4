// The second LOSS of BOTH: the one to the receiver, mirrored once more, to the port that its packet came in by.
control BouncedCopy(inout egress_metadata_t meta) {
    apply {
        meta.made.make = 0;
        meta.made.both = 0;
        meta.made.returned = 1;
    }
}
