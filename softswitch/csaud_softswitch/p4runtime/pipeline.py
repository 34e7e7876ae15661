"""Forwarding pipeline configs: P4Info and program together, saved, committed and reconciled.

Source: P4Runtime specification 1.4, sections 14 and 15. A config is loaded into a switch of its own, which
has no ports, and filled there; to commit it is one step for packets: the live switch adopts it as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from csaud_softswitch import _core
from csaud_softswitch.p4runtime.batch import Batch
from csaud_softswitch.p4runtime.errors import (
    BatchError,
    Code,
    P4RuntimeError,
    core_errors,
    invalid,
    not_found,
    unimplemented,
)
from csaud_softswitch.p4runtime.forwarding import ForwardingState
from csaud_softswitch.p4runtime.p4info_index import build_index
from csaud_softswitch.p4runtime.proto import p4r
from csaud_softswitch.p4runtime.roles import entity_id
from csaud_softswitch.p4runtime.same_program import fitted_to

NO_PIPELINE = "no forwarding pipeline config is set for this device"

MAX_ATOMIC = 10_000
"""Updates that can be one step for packets, which wait for all of them."""

_Action = p4r.SetForwardingPipelineConfigRequest
_Atomicity = p4r.WriteRequest
Check = Callable[[p4r.Update], None]


class Pipeline:
    """A config that is loaded into a switch, and the forwarding state that goes with it."""

    def __init__(self, switch: _core.Switch, config: p4r.ForwardingPipelineConfig) -> None:
        """Loads the program into `switch`; P4RuntimeError when config or program is not acceptable."""
        self.config = p4r.ForwardingPipelineConfig()
        self.config.CopyFrom(config)
        index = build_index(self.config.p4info)
        with core_errors():
            switch.load(_program(config))
        self.state = ForwardingState(switch, fitted_to(index, switch))


class PipelineManager:
    """The committed and the saved config of one device."""

    def __init__(self, switch: _core.Switch) -> None:
        self._switch = switch
        self._committed: Pipeline | None = None
        self._saved: Pipeline | None = None

    @property
    def committed(self) -> Pipeline | None:
        return self._committed

    def set_config(self, action: int, config: p4r.ForwardingPipelineConfig | None) -> None:
        """SetForwardingPipelineConfig; `action` is the request's, config None when the request has none."""
        if action == _Action.COMMIT:
            if config is not None:
                raise invalid("COMMIT takes no config: it commits the one that was saved")
            if self._saved is None:
                raise not_found("COMMIT: no forwarding pipeline config was saved")
            self._commit(self._saved, keep_state=False)
            return
        if config is None:
            raise invalid("the request has no config")
        if action == _Action.VERIFY:
            self._prepare(config)
        elif action == _Action.VERIFY_AND_SAVE:
            self._saved = self._prepare(config)
        elif action == _Action.VERIFY_AND_COMMIT:
            self._commit(self._prepare(config), keep_state=False)
        elif action == _Action.RECONCILE_AND_COMMIT:
            self._reconcile(config)
        else:
            raise invalid(f"unknown action {action} for a forwarding pipeline config")

    def get_config(self, response_type: int) -> p4r.ForwardingPipelineConfig | None:
        """GetForwardingPipelineConfig: the committed config, or the part of it that `response_type` asks
        for; None where there is none.
        """
        kinds = p4r.GetForwardingPipelineConfigRequest
        if response_type not in (
            kinds.ALL,
            kinds.COOKIE_ONLY,
            kinds.P4INFO_AND_COOKIE,
            kinds.DEVICE_CONFIG_AND_COOKIE,
        ):
            raise invalid(f"unknown response type {response_type}")
        if self._committed is None:
            return None
        config = self._committed.config
        answer = p4r.ForwardingPipelineConfig()
        if config.HasField("cookie"):
            answer.cookie.CopyFrom(config.cookie)
        if response_type in (kinds.ALL, kinds.P4INFO_AND_COOKIE):
            answer.p4info.CopyFrom(config.p4info)
        if response_type in (kinds.ALL, kinds.DEVICE_CONFIG_AND_COOKIE):
            answer.p4_device_config = config.p4_device_config
        return answer

    def batch(self, updates: Iterable[p4r.Update], atomicity: int, check: Check | None) -> Batch:
        """Updates for the saved config where there is one, else for the committed one. `check` refuses those
        that the controller's role does not allow.
        """
        state = self.state()
        apply = state.apply
        if check is not None:
            refuse = check

            def apply(update: p4r.Update) -> None:
                refuse(update)
                state.apply(update)

        if atomicity == _Atomicity.CONTINUE_ON_ERROR:
            return Batch(apply, updates)
        if atomicity == _Atomicity.ROLLBACK_ON_ERROR:
            return Batch(apply, updates, state.undo)
        if atomicity != _Atomicity.DATAPLANE_ATOMIC:
            raise unimplemented(f"unknown atomicity {atomicity} of a Write")
        batch = Batch(apply, updates, state.undo, self._switch)
        if len(batch) > MAX_ATOMIC:
            raise unimplemented(
                f"DATAPLANE_ATOMIC: {len(batch)} updates, at most {MAX_ATOMIC}: packets wait for all of them"
            )
        return batch

    def state(self) -> ForwardingState:
        """What reads see: the saved config's state where there is one, else the committed one's."""
        if self._saved is not None:
            return self._saved.state
        if self._committed is None:
            raise P4RuntimeError(Code.FAILED_PRECONDITION, NO_PIPELINE)
        return self._committed.state

    def _prepare(self, config: p4r.ForwardingPipelineConfig) -> Pipeline:
        """The config on a switch of its own. INVALID_ARGUMENT when it cannot be realized."""
        scratch = _core.Fabric().add_switch(self._switch.name, self._switch.device_id)
        try:
            return Pipeline(scratch, config)
        except P4RuntimeError as error:
            raise invalid(error.message) from error

    def _commit(self, pipeline: Pipeline, *, keep_state: bool) -> None:
        with core_errors():
            self._switch.adopt(pipeline.state.switch, keep_state)
        pipeline.state.move_to(self._switch)
        self._committed, self._saved = pipeline, None

    def _reconcile(self, config: p4r.ForwardingPipelineConfig) -> None:
        prepared = self._prepare(config)
        if self._committed is not None:
            before = self._committed.state
            updates = before.snapshot()
            for update in updates:
                _check_same_object(update.entity, before, prepared.state)
            try:
                Batch(prepared.state.apply, updates).finish()
            except BatchError as error:
                raise invalid(
                    f"RECONCILE_AND_COMMIT: the present entries do not fit the new config: {error.message}"
                ) from error
        self._commit(prepared, keep_state=True)


def _check_same_object(entity: p4r.Entity, before: ForwardingState, after: ForwardingState) -> None:
    number = entity_id(entity)
    name = before.index.known_ids.get(number)
    if number and after.index.known_ids.get(number) != name:
        raise invalid(f"RECONCILE_AND_COMMIT: the new config has no {name} with id {number:#010x}")


def _program(config: p4r.ForwardingPipelineConfig) -> str:
    if not config.p4_device_config:
        raise invalid("p4_device_config is empty; expected the JSON that p4c makes for BMv2")
    try:
        return config.p4_device_config.decode()
    except UnicodeDecodeError as error:
        raise invalid(f"p4_device_config is not the JSON that p4c makes for BMv2: {error}") from error
