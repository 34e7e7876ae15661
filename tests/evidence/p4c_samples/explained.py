"""Samples that differ for a reason that is none of the embedded switch's."""

EXPLAINED: dict[str, str] = {
    "issue1517-bmv2": "drops at random, from a stream of each switch's own",
}
"""By name: what in the program has no defined value."""
