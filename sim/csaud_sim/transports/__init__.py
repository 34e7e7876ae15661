"""Transports beside CSA-UD: hosts of another kind on plain switches, under the same experiments."""
