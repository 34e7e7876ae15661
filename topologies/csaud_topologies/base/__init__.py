"""Signals that end a run."""
