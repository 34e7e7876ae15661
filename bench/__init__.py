"""Benchmarks: `python -m bench switch` and `host`. Results are rows of results.py."""
