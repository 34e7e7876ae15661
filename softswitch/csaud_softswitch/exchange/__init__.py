"""Exchanges: what a P4 switch was told, what it was sent, and what it answered.

A vector (JSON, made to be read) is recorded from one target and replayed on another; both must agree on every
port, byte and count. That is what ties the embedded switch to simple_switch_grpc.
`python -m csaud_softswitch.exchange` records and checks.
"""
