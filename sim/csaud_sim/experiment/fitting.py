"""Whether what an experiment asks for can be: traffic on its fabric, attributes of the host core,
parameters of a transport."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from csaud._core import EndpointConfig
from csaud_controller.base.units import format_duration
from csaud_controller.base.yamlfile import FieldError
from csaud_controller.inventory import Fabric
from csaud_softswitch._core import Fabric as TrialFabric

from csaud_sim._core import PlainSimulation, Simulation
from csaud_sim.experiment.limits import LONGEST_TIME

if TYPE_CHECKING:
    from csaud_sim.experiment.model import Traffic
    from csaud_sim.transports.model import Transport

_OF_ONE_PATTERN = {"to": "incast", "senders": "incast", "matching": "matching"}
_GIVEN = ("rank", "world", "qkey", "local_ipv4", "local_qpn")
"""What hosts have by their place."""
_WORDS = {"bool": "true or false", "int": "a whole number"}


def check_traffic(traffic: Traffic, fabric: Fabric) -> None:
    """FieldError, of the key `traffic`, where the fabric cannot have it."""
    for key, pattern in _OF_ONE_PATTERN.items():
        given = key in traffic.model_fields_set and getattr(traffic, key) is not None
        if given and traffic.pattern != pattern:
            raise FieldError(
                ("traffic", key), f"of the pattern {pattern} alone, here it is {traffic.pattern}"
            )
    if traffic.to is not None and traffic.to not in fabric.hosts:
        raise FieldError(("traffic", "to"), f"{fabric.name} has no host {traffic.to}")
    if traffic.pattern == "incast" and traffic.senders >= len(fabric.hosts):
        raise FieldError(("traffic", "senders"), f"expected less than its {len(fabric.hosts)} hosts")
    rates = {host: fabric.link_of(fabric.edge_at[fabric.attachment(host)]).rate for host in fabric.hosts}
    capacity = sum(rates.values()) if traffic.to is None else rates[traffic.to]
    if not capacity:
        raise FieldError(("traffic", "load"), "a share of links without a rate: expected link_rate")
    times = -(-traffic.flows // traffic.group(len(rates)))
    if (whole := times * traffic.gap_ns(len(rates), capacity)) > LONGEST_TIME:
        raise FieldError(
            ("traffic", "load"),
            f"{traffic.flows} flows would take {whole / 1e9:.3g} s to start: expected a load by which they "
            f"start within {format_duration(LONGEST_TIME)}, or fewer",
        )


def check_core(asked: Mapping[str, int | bool]) -> None:
    """FieldError, of the key `core`, for an attribute that there is not, or a value that it cannot have."""
    config = EndpointConfig()
    known = [each for each in dir(config) if not each.startswith("_") and each not in _GIVEN]
    for name, value in asked.items():
        if name in _GIVEN:
            raise FieldError(("core", name), "each host has its own")
        if name not in known:
            raise FieldError(("core", name), f"no such attribute; expected one of {', '.join(known)}")
        if value < 0:
            raise FieldError(("core", name), f"expected 0 or more, got {value!r}")
        kind = type(getattr(config, name)).__name__
        try:
            setattr(config, name, value)
        except TypeError:
            raise FieldError(("core", name), f"expected {_WORDS.get(kind, kind)}, got {value!r}") from None
        except ValueError as error:
            raise FieldError(("core", name), f"{value!r}: {str(error).splitlines()[0]}") from None
    _try(config, asked)


def _try(config: EndpointConfig, asked: Mapping[str, int | bool]) -> None:
    """FieldError where a host refuses it: now, and not when its runs begin."""
    config.world, config.local_ipv4, config.local_qpn = 2, 1, 2
    fabric = TrialFabric()
    fabric.add_switch("trial", 1)
    fabric.add_memory_port("trial", 1, rate_bps=10**9, buffer_packets=1)
    try:
        Simulation(fabric).add_host(config, "trial", 1)
    except ValueError as error:
        name, _, needed = str(error).partition(": ")
        at = ("core", name) if name in asked else ("core",)
        raise FieldError(at, f"expected {needed}" if name in asked else str(error)) from None


def check_transport(transport: Transport) -> None:
    """FieldError, of the key `transport`, where hosts of it refuse its parameters together."""
    if transport.is_csa_ud:
        return
    low, high = transport.value("kmin"), transport.value("kmax")
    if 0 < high < low:
        raise FieldError(("transport", "kmin"), f"expected at most kmax, {high:,.0f} bytes, got {low:,.0f}")
    trial = PlainSimulation(transport.name, dict(transport.given))
    trial.add_switch(1)
    try:
        trial.add_host(0, rate_bps=10**11, delay_ns=1000, base_rtt_ns=10_000, seed=1)
    except ValueError as error:
        name = str(error).partition(":")[0]
        loc = ("transport", name) if name in transport.given else ("transport",)
        raise FieldError(loc, str(error).removeprefix(f"{name}: ")) from None
