"""Direct resources of a table's entries: its counter and its meter, as parts of a TableEntry.

Source: P4Runtime specification 1.4, section 9.1.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from csaud_softswitch._core import Switch
from csaud_softswitch.p4runtime.counter import decode_count, encode_count
from csaud_softswitch.p4runtime.errors import core_errors, invalid, unimplemented
from csaud_softswitch.p4runtime.match import Key
from csaud_softswitch.p4runtime.meter import MeterRates, decode_rates, encode_rates
from csaud_softswitch.p4runtime.p4info_specs import P4InfoIndex, TableSpec
from csaud_softswitch.p4runtime.proto import p4r

if TYPE_CHECKING:
    from csaud_softswitch._core import Count  # exists in the stub only


@dataclass(frozen=True)
class Resources:
    """What a write says of an entry's counter and meter. count None: leave it; rates None: all green."""

    count: Count | None
    rates: MeterRates | None


class DirectResources:
    """The direct counter and meter of one table; an entry is a key and a priority, None the default entry."""

    def __init__(self, switch: Switch, index: P4InfoIndex, spec: TableSpec) -> None:
        self.switch = switch
        self._table = spec.name
        self._counter = index.direct_counters.get(spec.direct_counter_id)
        self._meter = index.direct_meters.get(spec.direct_meter_id)

    def given(self, entry: p4r.TableEntry) -> bool:
        return (
            entry.HasField("counter_data")
            or entry.HasField("meter_config")
            or entry.HasField("meter_counter_data")
        )

    def decode(self, entry: p4r.TableEntry) -> Resources | None:
        """What a written entry says; None when there is nothing to write."""
        if self.given(entry):
            if entry.HasField("counter_data"):
                self.need_counter()
            if entry.HasField("meter_config"):
                self.need_meter()
            if entry.HasField("meter_counter_data"):
                raise unimplemented(f"{self._table}: counters of a meter's colors are not supported")
        elif self._meter is None:
            return None
        count = rates = None
        if self._counter is not None and entry.HasField("counter_data"):
            count = decode_count(self._counter, entry.counter_data)
        if self._meter is not None and entry.HasField("meter_config"):
            rates = decode_rates(self._meter, entry.meter_config)
        return Resources(count, rates)

    def write(self, entry_id: tuple[Key, int] | None, resources: Resources) -> None:
        if resources.count is not None:
            self.set_count(entry_id, resources.count)
        if self._meter is not None:
            self.set_rates(entry_id, resources.rates)

    def read(self, entry_id: tuple[Key, int] | None, wanted: p4r.TableEntry, found: p4r.TableEntry) -> None:
        """Put into `found` what `wanted` asks for."""
        if wanted.HasField("counter_data") and self._counter is not None:
            found.counter_data.CopyFrom(self.count(entry_id))
        if wanted.HasField("meter_config") and self._meter is not None:
            config = self.config(entry_id)
            if config is not None:
                found.meter_config.CopyFrom(config)

    # --- the counter

    def need_counter(self) -> None:
        if self._counter is None:
            raise invalid(f"{self._table} has no direct counter")

    def count(self, entry_id: tuple[Key, int] | None) -> p4r.CounterData:
        assert self._counter is not None
        with core_errors():
            if entry_id is None:
                count = self.switch.direct_counter_default(self._table)
            else:
                count = self.switch.direct_counter(self._table, *entry_id)
        return encode_count(self._counter, count)

    def decode_count(self, data: p4r.CounterData) -> Count:
        assert self._counter is not None
        return decode_count(self._counter, data)

    def set_count(self, entry_id: tuple[Key, int] | None, count: Count) -> None:
        with core_errors():
            if entry_id is None:
                self.switch.direct_counter_default_write(self._table, *count)
            else:
                self.switch.direct_counter_write(self._table, *entry_id, *count)

    # --- the meter

    def need_meter(self) -> None:
        if self._meter is None:
            raise invalid(f"{self._table} has no direct meter")

    def config(self, entry_id: tuple[Key, int] | None) -> p4r.MeterConfig | None:
        """None: the meter has none, and marks all packets green."""
        if entry_id is None:
            return None
        with core_errors():
            rates = self.switch.direct_meter_get(self._table, *entry_id)
        return None if rates is None else encode_rates(rates)

    def decode_rates(self, config: p4r.MeterConfig) -> MeterRates:
        assert self._meter is not None
        return decode_rates(self._meter, config)

    def set_rates(self, entry_id: tuple[Key, int] | None, rates: MeterRates | None) -> None:
        if entry_id is None:
            if rates is not None:
                raise unimplemented(f"{self._table}: a default entry's meter marks all packets green here")
            return
        with core_errors():
            self.switch.direct_meter_set(self._table, *entry_id, rates)
