"""`csaud perf`: bandwidth and latency between two ranks, and collectives, by message size."""
