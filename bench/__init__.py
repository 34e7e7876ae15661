"""Benchmarks: `python -m bench switch`. One module a benchmark; results are rows of results.py."""
