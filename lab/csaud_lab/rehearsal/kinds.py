"""What the machines of a rehearsal can be; of each the first is the default."""

TARGETS = ("soft", "bmv2")
"""Switches."""

DEVICES = ("soft", "verbs")
"""Of hosts: with verbs they are guests."""
