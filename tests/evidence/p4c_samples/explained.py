"""Samples that differ for a reason that is none of the embedded switch's."""

EXPLAINED: dict[str, str] = {}
"""By name: what in the program has no defined value."""
