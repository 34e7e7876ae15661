"""The report of a run: report.json (documented in docs/report.md), report.html and the summary on the
terminal.
"""
