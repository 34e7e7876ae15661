"""Parser value sets (p4.v1.ValueSetEntry).

Source: P4Runtime specification 1.4, section 9.7. simple_switch has exact members only.
"""

from __future__ import annotations

from collections.abc import Iterator

from csaud_softswitch._core import Switch
from csaud_softswitch.p4runtime.bytestring import canonical
from csaud_softswitch.p4runtime.errors import Code, P4RuntimeError, core_errors, invalid, not_found
from csaud_softswitch.p4runtime.match import decode_fields
from csaud_softswitch.p4runtime.p4info_specs import P4InfoIndex, ValueSetSpec
from csaud_softswitch.p4runtime.proto import p4r


class ValueSetStore:
    """The value sets of one pipeline."""

    def __init__(self, switch: Switch, index: P4InfoIndex) -> None:
        self.switch = switch
        self._index = index

    def modify(self, entry: p4r.ValueSetEntry) -> None:
        """Replace all members of a set."""
        spec = self._find(entry.value_set_id)
        members: dict[tuple[bytes, ...], None] = {}
        for given in entry.members:
            key = decode_fields(spec.name, spec.fields, given.match)
            member = tuple(field[1] for field in key if field is not None and field[0] == "exact")
            if member in members:
                raise P4RuntimeError(Code.ALREADY_EXISTS, f"{spec.name}: a member is given twice")
            members[member] = None
        if spec.size and len(members) > spec.size:
            raise P4RuntimeError(
                Code.RESOURCE_EXHAUSTED, f"{spec.name}: {len(members)} members, at most {spec.size}"
            )
        with core_errors():
            self.switch.value_set_set(spec.name, list(members))

    def current(self, entry: p4r.ValueSetEntry) -> list[p4r.ValueSetEntry]:
        return list(self.read(entry))

    def read(self, wanted: p4r.ValueSetEntry) -> Iterator[p4r.ValueSetEntry]:
        """value_set_id 0: every set."""
        specs = [self._find(wanted.value_set_id)] if wanted.value_set_id else self._index.value_sets.values()
        for spec in specs:
            found = p4r.ValueSetEntry(value_set_id=spec.id)
            with core_errors():
                members = self.switch.value_set_members(spec.name)
            for member in members:
                made = found.members.add()
                for field, value in zip(spec.fields, member, strict=True):
                    made.match.add(field_id=field.id).exact.value = canonical(value)
            yield found

    def _find(self, value_set_id: int) -> ValueSetSpec:
        if value_set_id == 0:
            raise invalid("a write needs a value_set_id")
        spec = self._index.value_sets.get(value_set_id)
        if spec is None:
            raise not_found(f"no value set with id {self._index.describe(value_set_id)}")
        return spec
