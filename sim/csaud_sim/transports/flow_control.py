"""What flow control (PFC) needs of a fabric: rates of links, and buffers with room for what comes after a
pause was told."""

from __future__ import annotations

from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import Fabric

from csaud_sim._core import pfc_headroom
from csaud_sim.transports.model import Transport


def check_flow_control(transport: Transport, fabric: Fabric, pipeline_ns: int) -> None:
    """FieldError, of the key `transport`, where it is lossless by PFC and a switch cannot be."""
    if transport.is_csa_ud or not transport.value("pfc"):
        return
    buffer = int(transport.value("buffer"))
    headroom = dict.fromkeys(fabric.switches, 0)
    for edge in fabric.edges:
        link = fabric.link_of(edge)
        if not link.rate:
            raise FieldError(("transport", "pfc"), "PFC needs rates of links: expected link_rate")
        for end in (edge.a, edge.b):
            if end in headroom:
                headroom[end] += pfc_headroom(link.rate, link.delay, pipeline_ns)
    switch, most = max(headroom.items(), key=lambda each: each[1])
    if most >= buffer:
        raise FieldError(
            ("transport", "buffer"),
            f"ports of {switch} need {most:,} bytes of headroom for what comes after a pause: expected more, "
            f"got {buffer:,}",
        )
