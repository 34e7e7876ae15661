"""Counter entries, indirect and direct (p4.v1.CounterEntry, p4.v1.DirectCounterEntry).

Source: P4Runtime specification 1.4, sections 9.3 and 9.4. Data has only the units that the program counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from csaud_softswitch._core import Switch
from csaud_softswitch.p4runtime.errors import core_errors, invalid, not_found, out_of_range
from csaud_softswitch.p4runtime.p4info_specs import CounterSpec, P4InfoIndex
from csaud_softswitch.p4runtime.proto import p4r

if TYPE_CHECKING:
    from csaud_softswitch._core import Count  # exist in the stub only

_LIMIT = 1 << 63


def encode_count(spec: CounterSpec, count: Count) -> p4r.CounterData:
    data = p4r.CounterData()
    if spec.packets:
        data.packet_count = count[0]
    if spec.octets:
        data.byte_count = count[1]
    return data


def decode_count(spec: CounterSpec, data: p4r.CounterData) -> Count:
    for name, value in (("packet_count", data.packet_count), ("byte_count", data.byte_count)):
        if not 0 <= value < _LIMIT:
            raise out_of_range(f"{spec.name}: {name} {value} is negative")
    return data.packet_count, data.byte_count


class CounterStore:
    """The indirect counters of one pipeline."""

    def __init__(self, switch: Switch, index: P4InfoIndex) -> None:
        self.switch = switch
        self._index = index

    def modify(self, entry: p4r.CounterEntry) -> None:
        """Set one cell, or every cell where no index is given; without data nothing is changed."""
        spec = self._find(entry.counter_id)
        cells = self._cells(spec, entry)
        if not entry.HasField("data"):
            return
        packets, octets = decode_count(spec, entry.data)
        with core_errors():
            for cell in cells:
                self.switch.counter_write(spec.name, cell, packets, octets)

    def current(self, entry: p4r.CounterEntry) -> list[p4r.CounterEntry]:
        """The cells that modify() would change, as they are."""
        return list(self.read(entry)) if entry.HasField("data") else []

    def read(self, entry: p4r.CounterEntry) -> Iterator[p4r.CounterEntry]:
        """counter_id 0: every counter; no index: every cell."""
        if entry.counter_id == 0:
            if entry.HasField("index"):
                raise invalid("counter_id 0 (all counters) cannot have an index")
            for counter_id in self._index.counters:
                yield from self._read_all(self._index.counters[counter_id])
            return
        spec = self._find(entry.counter_id)
        if entry.HasField("index"):
            cell = array_index(spec.name, spec.size, entry.index)
            with core_errors():
                count = self.switch.counter_read(spec.name, cell)
            yield _entry(spec, cell, count)
        else:
            yield from self._read_all(spec)

    def _read_all(self, spec: CounterSpec) -> Iterator[p4r.CounterEntry]:
        with core_errors():
            counts = self.switch.counter_read_all(spec.name)
        for cell, count in enumerate(counts):
            yield _entry(spec, cell, count)

    def _find(self, counter_id: int) -> CounterSpec:
        if counter_id == 0:
            raise invalid("a write needs a counter_id")
        spec = self._index.counters.get(counter_id)
        if spec is None:
            raise not_found(f"no counter with id {self._index.describe(counter_id)}")
        return spec

    def _cells(self, spec: CounterSpec, entry: p4r.CounterEntry) -> Iterable[int]:
        if not entry.HasField("index"):
            return range(spec.size)
        return (array_index(spec.name, spec.size, entry.index),)


def array_index(name: str, size: int, index: p4r.Index) -> int:
    """The cell of an array that P4Runtime's index means."""
    if index.index < 0:
        raise invalid(f"{name}: index {index.index} is negative")
    if index.index >= size:
        raise out_of_range(f"{name}: index {index.index}, expected 0 to {size - 1}")
    return index.index


def _entry(spec: CounterSpec, cell: int, count: Count) -> p4r.CounterEntry:
    entry = p4r.CounterEntry(counter_id=spec.id, data=encode_count(spec, count))
    entry.index.index = cell
    return entry
