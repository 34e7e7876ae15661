"""Registers (p4.v1.RegisterEntry).

Source: P4Runtime specification 1.4, section 9.8. simple_switch_grpc refuses them; the values are there, so
here they can be read and written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from csaud_softswitch._core import Switch
from csaud_softswitch.p4runtime.counter import array_index
from csaud_softswitch.p4runtime.errors import core_errors, invalid, not_found
from csaud_softswitch.p4runtime.p4data import decode_data, encode_data, leaves
from csaud_softswitch.p4runtime.p4info_specs import P4InfoIndex, RegisterSpec
from csaud_softswitch.p4runtime.proto import p4r


class RegisterStore:
    """The registers of one pipeline."""

    def __init__(self, switch: Switch, index: P4InfoIndex) -> None:
        self.switch = switch
        self._index = index

    def modify(self, entry: p4r.RegisterEntry) -> None:
        """Set one cell, or every cell where no index is given."""
        spec = self._find(entry.register_id)
        if not entry.HasField("data"):
            raise invalid(f"{spec.name}: a write needs data")
        [value] = decode_data(spec.shape, entry.data, spec.name)
        with core_errors():
            for cell in self._cells(spec, entry):
                self.switch.register_write(spec.name, cell, int.from_bytes(value, "big"))

    def current(self, entry: p4r.RegisterEntry) -> list[p4r.RegisterEntry]:
        """The cells that modify() would change, as they are."""
        return list(self.read(entry))

    def read(self, entry: p4r.RegisterEntry) -> Iterator[p4r.RegisterEntry]:
        """register_id 0: every register; no index: every cell."""
        if entry.register_id == 0 and entry.HasField("index"):
            raise invalid("register_id 0 (all registers) cannot have an index")
        wanted = [self._find(entry.register_id)] if entry.register_id else self._index.registers.values()
        for spec in wanted:
            [leaf] = leaves(spec.shape)
            cells = self._cells(spec, entry)
            with core_errors():
                if entry.HasField("index"):
                    values = [self.switch.register_read(spec.name, cell) for cell in cells]
                else:
                    values = self.switch.register_read_all(spec.name)
            for cell, value in zip(cells, values, strict=True):
                found = p4r.RegisterEntry(register_id=spec.id)
                found.index.index = cell
                octets = value.to_bytes((leaf.width + 7) // 8, "big")
                found.data.CopyFrom(encode_data(spec.shape, iter([octets])))
                yield found

    def _cells(self, spec: RegisterSpec, entry: p4r.RegisterEntry) -> Iterable[int]:
        if not entry.HasField("index"):
            return range(spec.size)
        return (array_index(spec.name, spec.size, entry.index),)

    def _find(self, register_id: int) -> RegisterSpec:
        if register_id == 0:
            raise invalid("a write needs a register_id")
        spec = self._index.registers.get(register_id)
        if spec is None:
            raise not_found(f"no register with id {self._index.describe(register_id)}")
        return spec
