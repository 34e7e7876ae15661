"""Directories of running fabrics."""
