"""Forwarding pipeline configs: verify, save, commit, reconcile, and read back.

Source: P4Runtime specification 1.4, sections 7 and 16.2. The device config is the JSON that p4c makes for
BMv2. What is verified is loaded into a switch without ports, so that a config which commits is one that
loads.
"""

from __future__ import annotations

from collections.abc import Iterable

from csaud_softswitch import _core
from csaud_softswitch.p4runtime.errors import (
    BatchError,
    Code,
    P4RuntimeError,
    core_errors,
    invalid,
    unimplemented,
)
from csaud_softswitch.p4runtime.forwarding import Batch, ForwardingState
from csaud_softswitch.p4runtime.p4info_index import P4InfoIndex, TableSpec, build_index
from csaud_softswitch.p4runtime.proto import p4r

NO_PIPELINE = "no forwarding pipeline config is set for this device"
_Action = p4r.SetForwardingPipelineConfigRequest


class Pipeline:
    """A config that is loaded into a switch, and the forwarding state that goes with it."""

    def __init__(self, switch: _core.Switch, config: p4r.ForwardingPipelineConfig) -> None:
        """Loads the program into `switch`; P4RuntimeError when config or program is not acceptable."""
        self.config = p4r.ForwardingPipelineConfig()
        self.config.CopyFrom(config)
        index = build_index(self.config.p4info)
        with core_errors():
            switch.load(_program(config))
        _check_same_program(index, switch)
        self.switch = switch
        self.state = ForwardingState(switch, index)


class _Saved:
    """A config that was saved and not committed: what is written meanwhile is tried here and kept for the
    commit.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.journal: list[p4r.Update] = []

    def apply(self, update: p4r.Update) -> None:
        self.pipeline.state.apply(update)
        self.journal.append(update)


class PipelineManager:
    """The committed and the saved config of one device."""

    def __init__(self, switch: _core.Switch) -> None:
        self._switch = switch
        self._committed: Pipeline | None = None
        self._saved: _Saved | None = None

    @property
    def committed(self) -> Pipeline | None:
        return self._committed

    def set_config(self, action: int, config: p4r.ForwardingPipelineConfig | None) -> None:
        """SetForwardingPipelineConfig; `action` is the request's, config None when the request has none."""
        if action == _Action.COMMIT:
            if config is not None:
                raise invalid("COMMIT takes no config: it commits the one that was saved")
            self._commit_saved()
            return
        if config is None:
            raise invalid("the request has no config")
        if action == _Action.VERIFY:
            self._rehearse(config)
        elif action == _Action.VERIFY_AND_SAVE:
            self._saved = _Saved(self._rehearse(config))
        elif action == _Action.VERIFY_AND_COMMIT:
            self._rehearse(config)
            self._replace(config, [])
        elif action == _Action.RECONCILE_AND_COMMIT:
            self._reconcile(config)
        else:
            raise invalid(f"unknown action {action} for a forwarding pipeline config")

    def get_config(self, response_type: int) -> p4r.ForwardingPipelineConfig:
        """GetForwardingPipelineConfig: the committed config, or the part of it that `response_type` asks
        for.
        """
        if self._committed is None:
            raise P4RuntimeError(Code.FAILED_PRECONDITION, NO_PIPELINE)
        config = self._committed.config
        kinds = p4r.GetForwardingPipelineConfigRequest
        answer = p4r.ForwardingPipelineConfig()
        if response_type not in (
            kinds.ALL,
            kinds.COOKIE_ONLY,
            kinds.P4INFO_AND_COOKIE,
            kinds.DEVICE_CONFIG_AND_COOKIE,
        ):
            raise invalid(f"unknown response type {response_type}")
        if config.HasField("cookie"):
            answer.cookie.CopyFrom(config.cookie)
        if response_type in (kinds.ALL, kinds.P4INFO_AND_COOKIE):
            answer.p4info.CopyFrom(config.p4info)
        if response_type in (kinds.ALL, kinds.DEVICE_CONFIG_AND_COOKIE):
            answer.p4_device_config = config.p4_device_config
        return answer

    def batch(self, updates: Iterable[p4r.Update]) -> Batch:
        """Updates for the saved config where there is one, else for the committed one."""
        return Batch(self.state().apply if self._saved is None else self._saved.apply, updates)

    def state(self) -> ForwardingState:
        """What reads see: the saved config's state where there is one, else the committed one's."""
        if self._saved is not None:
            return self._saved.pipeline.state
        if self._committed is None:
            raise P4RuntimeError(Code.FAILED_PRECONDITION, NO_PIPELINE)
        return self._committed.state

    def _rehearse(self, config: p4r.ForwardingPipelineConfig) -> Pipeline:
        scratch = _core.Fabric().add_switch(self._switch.name, self._switch.device_id)
        return Pipeline(scratch, config)

    def _replace(self, config: p4r.ForwardingPipelineConfig, updates: list[p4r.Update]) -> None:
        self._saved = None
        self._committed = Pipeline(self._switch, config)
        Batch(self._committed.state.apply, updates).finish()

    def _commit_saved(self) -> None:
        if self._saved is None:
            raise P4RuntimeError(Code.FAILED_PRECONDITION, "COMMIT: no forwarding pipeline config was saved")
        self._replace(self._saved.pipeline.config, self._saved.journal)

    def _reconcile(self, config: p4r.ForwardingPipelineConfig) -> None:
        updates = [] if self._committed is None else self._committed.state.snapshot()
        trial = self._rehearse(config)
        try:
            Batch(trial.state.apply, updates).finish()
        except BatchError as error:
            raise unimplemented(
                f"RECONCILE_AND_COMMIT: the present entries do not fit the new config: {error.message}"
            ) from error
        self._replace(config, updates)


def _program(config: p4r.ForwardingPipelineConfig) -> str:
    if not config.p4_device_config:
        raise invalid("p4_device_config is empty; expected the JSON that p4c makes for BMv2")
    try:
        return config.p4_device_config.decode()
    except UnicodeDecodeError as error:
        raise invalid(f"p4_device_config is not the JSON that p4c makes for BMv2: {error}") from error


def _check_same_program(index: P4InfoIndex, switch: _core.Switch) -> None:
    """P4Info and JSON must be of one compilation: everything P4Info names is in the program, in the same
    shape.
    """
    tables = {table["name"]: table for table in switch.tables()}
    for spec in index.tables.values():
        found = tables.get(spec.name)
        if found is None:
            raise invalid(f"P4Info has table {spec.name}, which the program's JSON does not have")
        _check_table(index, spec, found)
    counters = {counter["name"] for counter in switch.counters()}
    for counter in (*index.counters.values(), *index.direct_counters.values()):
        if counter.name not in counters:
            raise invalid(f"P4Info has counter {counter.name}, which the program's JSON does not have")
    profiles = {profile["name"] for profile in switch.profiles()}
    for profile in index.profiles.values():
        if profile.name not in profiles:
            raise invalid(f"P4Info has action profile {profile.name}, which the program's JSON does not have")


def _check_table(index: P4InfoIndex, spec: TableSpec, found: _core.TableInfo) -> None:
    # p4c writes optional keys as ternary ones into the JSON.
    ours = [(f.name, "ternary" if f.match_type == "optional" else f.match_type, f.width) for f in spec.fields]
    theirs = [(k["name"], k["match_type"], k["width"]) for k in found["keys"]]
    if ours != theirs:
        raise invalid(f"table {spec.name}: P4Info has the keys {ours}, the program's JSON has {theirs}")
    actions = {a["name"]: [width for _, width in a["params"]] for a in found["actions"]}
    for action_id in spec.actions:
        action = index.actions[action_id]
        if actions.get(action.name) != [p.width for p in action.params]:
            raise invalid(
                f"table {spec.name}: action {action.name} of P4Info is not that of the program's JSON"
            )
