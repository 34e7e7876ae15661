"""The parts of a fabric as people write them: switches, hosts and the edges between them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from csaud_controller.base.units import Duration, Rate, parse_rate
from csaud_controller.inventory.ports import MAX_PORT, End

Role = Literal["leaf", "spine", "core", "edge", "aggregation"]
"""leaf and spine of two tiers; edge, aggregation and core of three."""
TargetName = Literal["soft", "bmv2", "tofino", "tofino2"]

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,253}"
"""LLDP's chassis id has room for 254 characters."""
PORT_NAME = r"[A-Za-z0-9][A-Za-z0-9._/-]{0,63}"


def _unicast_mac(text: str) -> str:
    if int(text[:2], 16) & 1:
        raise ValueError(f"expected a unicast MAC address, got {text}")
    return text.lower()


def _name(text: str) -> str:
    if not re.fullmatch(NAME, text):
        raise ValueError(
            f"expected 1 to 254 letters, digits, _, . or -, a letter or digit first, got {text!r}"
        )
    return text


def _port_name(text: str) -> str:
    if not re.fullmatch(PORT_NAME, text) or text.isdecimal():
        raise ValueError(
            f"expected 1 to 64 letters, digits, _, ., / or -, and not digits alone, got {text!r}"
        )
    return text


def _unicast_ip(address: IPv4Address) -> IPv4Address:
    if address.is_multicast or address.is_loopback or address.is_unspecified or address.is_reserved:
        raise ValueError(f"expected the address of a host, got {address}")
    return address


def _routed_ip6(address: IPv6Address) -> IPv6Address:
    if address.scope_id is not None or address.is_link_local:
        raise ValueError(f"expected a global or unique local address, got {address}, which is its link's own")
    if address.is_multicast or address.is_loopback or address.is_unspecified or address.ipv4_mapped:
        raise ValueError(f"expected the address of a host, got {address}")
    return address


Name = Annotated[str, AfterValidator(_name), WithJsonSchema({"type": "string", "pattern": f"^{NAME}$"})]
PortName = Annotated[
    str, AfterValidator(_port_name), WithJsonSchema({"type": "string", "pattern": f"^{PORT_NAME}$"})
]
Mac = Annotated[
    str, StringConstraints(pattern=r"^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$"), AfterValidator(_unicast_mac)
]
Address = Annotated[IPv4Address, AfterValidator(_unicast_ip)]
Address6 = Annotated[IPv6Address, AfterValidator(_routed_ip6)]
P4RuntimeAddress = Annotated[str, StringConstraints(pattern=r"^(unix:/.+|[^:/\s]+:\d+)$")]
SwitchPort = Annotated[int, Field(ge=1, le=MAX_PORT)]


class Strict(BaseModel):
    """Refuses keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LinkDefaults(Strict):
    """What a link has when its edge does not say otherwise."""

    rate: Rate = Field(default=200_000_000, description="bits per second, 0 = not limited")
    delay: Duration = Field(default=0, description="one way, nanoseconds")
    buffer: int = Field(default=256, ge=1, le=1 << 20, description="packets per priority queue")


class ServerTls(Strict):
    """What a switch's P4Runtime server shows and asks of its clients. Relative paths: beside the fabric
    file."""

    cert: Path
    key: Path
    cacert: Path | None = Field(default=None, description="who signed the clients' certificates")
    client_auth: bool = Field(default=False, description="clients without a certificate are refused")


class ClientTls(Strict):
    """What a client of the switches shows and asks of them. Relative paths: beside the fabric file."""

    cacert: Path | None = Field(default=None, description="who signed the switches' certificates")
    cert: Path | None = Field(default=None, description="shown to switches that ask for one")
    key: Path | None = None
    server_name: str | None = Field(
        default=None, description="name in the switches' certificates; default: localhost for unix sockets"
    )

    @model_validator(mode="after")
    def _check(self) -> ClientTls:
        if (self.cert is None) != (self.key is None):
            raise ValueError("cert and key belong together: expected both or neither")
        return self


_MODE = re.compile(r"(\d{1,2})x(\d+(?:\.\d+)?G)(?:\[[0-9G,.]+\])?")


def _breakout_mode(text: str) -> str:
    found = _MODE.fullmatch(text)
    if not found or not 1 <= int(found[1]) <= 16:
        raise ValueError(f"expected a breakout mode such as 4x25G or 2x200G[100G], got {text!r}")
    return text


class Breakout(Strict):
    """A connector of a switch whose lanes are ports of their own."""

    mode: Annotated[
        str,
        AfterValidator(_breakout_mode),
        WithJsonSchema({"type": "string", "pattern": f"^{_MODE.pattern}$"}),
    ] = Field(
        description="as SONiC's brkout_mode: 4x25G, 2x200G[100G]; other speeds in brackets are not used"
    )
    ports: tuple[SwitchPort, ...] = Field(description="P4Runtime's numbers of the ports that it became")

    @property
    def count(self) -> int:
        """Ports that the mode makes."""
        return int(self.mode.partition("x")[0])

    @property
    def rate(self) -> int:
        """Of each of them, bits per second."""
        found = _MODE.fullmatch(self.mode)
        assert found
        return parse_rate(f"{found[2]}bit")

    @model_validator(mode="after")
    def _check(self) -> Breakout:
        if len(self.ports) != self.count:
            raise ValueError(f"{self.mode} makes {self.count} ports, and {len(self.ports)} are given")
        return self


class SwitchSpec(Strict):
    """One switch."""

    role: Role = "leaf"
    device_id: int = Field(ge=1, le=(1 << 63) - 1)
    target: TargetName | None = Field(
        default=None, description="what it is; default: what `csaud controller run --target` says"
    )
    program: Path | None = Field(
        default=None, description="folder with the compiled program of its target, beside the fabric file"
    )
    p4runtime: P4RuntimeAddress | None = Field(default=None, description="filled in when the switch runs")
    tls: ServerTls | None = Field(default=None, description="of this switch, instead of the fabric's")
    interfaces: dict[SwitchPort, PortName] = Field(
        default_factory=dict, description="what the switch itself calls its ports: {1: Ethernet0}"
    )
    breakouts: dict[PortName, Breakout] = Field(
        default_factory=dict, description="connectors that are split, by name"
    )
    group: int | None = Field(
        default=None, ge=1, le=0x7FFF, description="id of its path group; set when switches come and go"
    )


class Nic(Strict):
    """One interface of a host."""

    name: PortName | None = Field(default=None, description="what the host itself calls it: eth0")
    ip: Address
    ip6: Address6 | None = Field(default=None, description="IPv6 address beside it, if it has one")
    mac: Mac

    @property
    def addresses(self) -> tuple[IPv4Address | IPv6Address, ...]:
        """Those by which it is reached."""
        return (self.ip,) if self.ip6 is None else (self.ip, self.ip6)


_UNREAD = {"ip": "192.0.2.1", "mac": "02:00:00:00:00:00"}
"""Stand for what is missing in the first NIC, where it is told."""


class HostSpec(Strict):
    """A host: `ip`, `mac` and `ip6` of its only NIC, or `nics`, the first of which it is known by."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_extra={"required": [], "anyOf": [{"required": ["ip", "mac"]}, {"required": ["nics"]}]},
    )

    ip: Address
    ip6: Address6 | None = Field(default=None, description="IPv6 address beside it, if it has one")
    mac: Mac
    nics: tuple[Nic, ...] = Field(default=(), description="instead of ip and mac; NIC n is port n, from 0")

    @model_validator(mode="before")
    @classmethod
    def _first_nic(cls, value: Any) -> Any:
        if not isinstance(value, Mapping) or not isinstance(value.get("nics"), list) or not value["nics"]:
            return value
        first = value["nics"][0]
        if not isinstance(first, Mapping):
            return {**_UNREAD, **value}
        for key in (*_UNREAD, "ip6"):
            if key in value and key in first and str(value[key]).lower() != str(first[key]).lower():
                raise ValueError(f"{key} is that of the first of `nics`: expected one of both, or the same")
            value = {**value, key: first.get(key, _UNREAD.get(key))}
        return value

    @property
    def all_nics(self) -> tuple[Nic, ...]:
        """Its interfaces by number."""
        return self.nics or (Nic(ip=self.ip, ip6=self.ip6, mac=self.mac),)


def _known_port(value: object) -> object:
    if isinstance(value, str) and not value.isdecimal():
        raise ValueError(
            f"no port is called {value!r}: expected a number, or a name of its `interfaces` or `nics`"
        )
    return value


EdgePort = Annotated[
    int,
    Field(ge=0, le=MAX_PORT),
    BeforeValidator(_known_port),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": MAX_PORT},
                {"type": "string", "pattern": f"^{PORT_NAME}$"},
            ]
        }
    ),
]
"""Names are made numbers before (`wiring.numbered`)."""


class Edge(Strict):
    """One full-duplex link between port `a_port` of `a` and port `b_port` of `b`; a host's ports are its
    NICs, from 0."""

    a: Name
    a_port: EdgePort
    b: Name
    b_port: EdgePort
    rate: Rate | None = None
    delay: Duration | None = None
    buffer: int | None = Field(default=None, ge=1, le=1 << 20)

    @property
    def ends(self) -> tuple[End, End]:
        return End(self.a, self.a_port), End(self.b, self.b_port)

    def __str__(self) -> str:
        return f"{self.a}:{self.a_port}-{self.b}:{self.b_port}"
