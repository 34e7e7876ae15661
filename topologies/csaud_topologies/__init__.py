"""Fabrics under Mininet: scenarios, workloads, and the report that checks the books of a run."""
