"""Actions: p4.v1.Action <-> the native core's ("action", name, parameters).

Source: P4Runtime specification 1.4, section 9.1.2.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from csaud_softswitch.p4runtime.bytestring import canonical, padded
from csaud_softswitch.p4runtime.errors import denied, invalid
from csaud_softswitch.p4runtime.p4info_specs import P4InfoIndex
from csaud_softswitch.p4runtime.proto import p4r

if TYPE_CHECKING:
    from csaud_softswitch._core import ActionCall  # exist in the stub only


def decode_action(
    index: P4InfoIndex,
    action: p4r.Action,
    allowed: Container[int],
    where: str,
    elsewhere: Container[int] = (),
) -> ActionCall:
    """An action call with every parameter given once; the action must be one of `allowed` (ids).

    PERMISSION_DENIED for one of `elsewhere`: an action of this table, out of its scope.
    """
    spec = index.actions.get(action.action_id)
    if spec is None:
        raise invalid(f"{where}: no action with id {action.action_id:#010x}")
    if action.action_id not in allowed:
        if action.action_id in elsewhere:
            raise denied(f"{where}: action {spec.name} is not allowed here, only elsewhere in the table")
        raise invalid(f"{where}: action {spec.name} is not allowed here")
    given: dict[int, bytes] = {}
    for param in action.params:
        if param.param_id in given:
            raise invalid(f"{where}: parameter {param.param_id} of {spec.name} is given twice")
        given[param.param_id] = param.value
    wanted = {p.id for p in spec.params}
    if given.keys() != wanted:
        expected = ", ".join(f"{p.id} {p.name}" for p in spec.params) or "none"
        raise invalid(f"{where}: {spec.name} got parameters {sorted(given)}, expected {expected}")
    values = [padded(given[p.id], p.width, f"{where}: {spec.name}.{p.name}", p.size) for p in spec.params]
    return ("action", spec.name, values)


def encode_action(index: P4InfoIndex, name: str, values: Sequence[bytes]) -> p4r.Action:
    """The canonical p4.v1.Action of a call that the native core reported."""
    spec = index.actions[index.action_ids[name]]
    action = p4r.Action(action_id=spec.id)
    for param, value in zip(spec.params, values, strict=True):
        action.params.add(param_id=param.id, value=canonical(value))
    return action
