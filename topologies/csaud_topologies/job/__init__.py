"""A job on a running fabric: ranks, traffic beside it, events, and everything that is measured meanwhile."""
