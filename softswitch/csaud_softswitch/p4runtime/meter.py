"""Meters, indirect and direct (p4.v1.MeterEntry, p4.v1.DirectMeterEntry).

Source: P4Runtime specification 1.4, section 9.5. A meter without a config marks every packet green. v1model
has two-rate meters (RFC 2698); the other types are two-rate ones with equal rates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from csaud_softswitch._core import Switch
from csaud_softswitch.p4runtime.counter import array_index
from csaud_softswitch.p4runtime.errors import core_errors, invalid, not_found, unimplemented
from csaud_softswitch.p4runtime.p4info_specs import MeterSpec, P4InfoIndex
from csaud_softswitch.p4runtime.proto import p4r

MeterRates: TypeAlias = "tuple[float, int, float, int]"
"""(cir, cburst, pir, pburst): rates a second and bursts, in the meter's unit."""


def decode_rates(spec: MeterSpec, config: p4r.MeterConfig) -> MeterRates:
    """(cir, cburst, pir, pburst) of a config, which must suit the meter's type."""
    given = (config.cir, config.cburst, config.pir, config.pburst)
    if min(*given, config.eburst) < 0:
        raise invalid(f"{spec.name}: a rate or burst is negative")
    if spec.colors == "two rates, three colors":
        if config.eburst:
            raise invalid(f"{spec.name}: eburst {config.eburst}: a meter of two rates has none")
        if config.cir > config.pir:
            raise invalid(f"{spec.name}: cir {config.cir} is greater than pir {config.pir}")
        return given
    if (config.pir, config.pburst) != (config.cir, config.cburst):
        raise invalid(f"{spec.name}: pir and pburst must be cir and cburst, the meter has one rate")
    if spec.colors == "one rate, two colors" and config.eburst:
        raise invalid(f"{spec.name}: eburst {config.eburst}: a meter of two colors has none")
    if config.eburst:
        raise unimplemented(f"{spec.name}: excess bursts of meters with one rate are not supported")
    return given


def encode_rates(rates: MeterRates) -> p4r.MeterConfig:
    cir, cburst, pir, pburst = rates
    return p4r.MeterConfig(cir=int(cir), cburst=cburst, pir=int(pir), pburst=pburst)


def refuse_color_counters(entry: p4r.MeterEntry | p4r.DirectMeterEntry) -> None:
    if entry.HasField("counter_data"):
        raise unimplemented("counters of a meter's colors are not supported")


class MeterStore:
    """The indirect meters of one pipeline."""

    def __init__(self, switch: Switch, index: P4InfoIndex) -> None:
        self.switch = switch
        self._index = index

    def modify(self, entry: p4r.MeterEntry) -> None:
        """Configure one cell, or every cell where no index is given; without config: all green."""
        refuse_color_counters(entry)
        spec = self._find(entry.meter_id)
        rates = decode_rates(spec, entry.config) if entry.HasField("config") else None
        with core_errors():
            for cell in self._cells(spec, entry):
                self.switch.meter_set(spec.name, cell, rates)

    def current(self, entry: p4r.MeterEntry) -> list[p4r.MeterEntry]:
        """The cells that modify() would change, as they are."""
        return list(self.read(entry))

    def read(self, entry: p4r.MeterEntry) -> Iterator[p4r.MeterEntry]:
        """meter_id 0: every meter; no index: every cell."""
        refuse_color_counters(entry)
        if entry.meter_id == 0 and entry.HasField("index"):
            raise invalid("meter_id 0 (all meters) cannot have an index")
        wanted = [self._find(entry.meter_id)] if entry.meter_id else self._index.meters.values()
        for spec in wanted:
            for cell in self._cells(spec, entry):
                found = p4r.MeterEntry(meter_id=spec.id)
                found.index.index = cell
                with core_errors():
                    rates = self.switch.meter_get(spec.name, cell)
                if rates is not None:
                    found.config.CopyFrom(encode_rates(rates))
                yield found

    def _cells(self, spec: MeterSpec, entry: p4r.MeterEntry) -> Iterable[int]:
        if not entry.HasField("index"):
            return range(spec.size)
        return (array_index(spec.name, spec.size, entry.index),)

    def _find(self, meter_id: int) -> MeterSpec:
        if meter_id == 0:
            raise invalid("a write needs a meter_id")
        spec = self._index.meters.get(meter_id)
        if spec is None:
            raise not_found(f"no meter with id {self._index.describe(meter_id)}")
        return spec
