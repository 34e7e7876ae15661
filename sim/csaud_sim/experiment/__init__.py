"""Experiments: traffic that is not a job's, many times over, with figures that can be compared."""
