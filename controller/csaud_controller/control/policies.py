"""Requests about policies as a whole: applied from files, planned, listed, and rolled back."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from csaud_controller.control.asker import NOTE
from csaud_controller.control.client import Answer
from csaud_controller.control.fabric_controller import FabricController
from csaud_controller.policy.ending import begun
from csaud_controller.policy.intent import Intent
from csaud_controller.policy.model import Policy

Request = dict[str, Any]
Change = Callable[[Callable[[Intent], Intent], Request], Awaitable[Answer]]

_MOST_LISTED = 1000


class Policies:
    """Their operations; `change` makes a change as a request asks for it."""

    def __init__(self, controller: FabricController, change: Change) -> None:
        self._controller, self._change = controller, change
        self.ops = {
            "policy.apply": self._apply,
            "policy.plan": self._plan,
            "policy.history": self._history,
            "policy.rollback": self._rollback,
        }

    async def _apply(self, request: Request) -> Answer:
        """The whole policy anew, until some time or for good."""
        NOTE.set(str(request.get("note", ""))[:1000])
        return await self._change(lambda intent: _replaced(intent, request), request)

    async def _plan(self, request: Request) -> Answer:
        """What that would write."""
        made = await self._controller.plan_intent(lambda intent: _replaced(intent, request))
        return {"plan": made, "revision": self._controller.revision}

    async def _history(self, request: Request) -> Answer:
        """The last revisions, or all of one."""
        history = self._controller.history
        if (revision := request.get("revision")) is not None:
            return {"record": (await history.at(int(revision))).as_json()}
        limit = min(int(request.get("limit", 20)), _MOST_LISTED)
        return {"revisions": await history.newest(limit), "revision": self._controller.revision}

    async def _rollback(self, request: Request) -> Answer:
        """The policy of a revision; without `to`, the last other one."""
        history, to = self._controller.history, request.get("to")
        found = await (
            history.before(self._controller.intent, time.time()) if to is None else history.at(int(to))
        )
        past = found.intent
        if past.at(time.time()) is not past:
            raise ValueError(f"the policy of revision {found.revision} has ended")
        NOTE.set(f"back to revision {found.revision}")
        answer = await self._change(
            lambda intent: intent.model_copy(update={"policy": past.policy, "ending": past.ending}), request
        )
        return {**answer, "to": found.revision}


def _replaced(intent: Intent, request: Request) -> Intent:
    """`lasts_s` counts from now on, by the controller's clock: whoever asks may have another."""
    policy, now = Policy.model_validate(request["policy"]), time.time()
    until, lasts_s = request.get("until"), request.get("lasts_s")
    if until is not None and lasts_s is not None:
        raise ValueError("expected until or lasts_s, not both")
    ending = None
    if until is not None:
        ending = begun(intent.policy, intent.ending, float(until), now)
    elif lasts_s is not None:
        ending = begun(intent.policy, intent.ending, now + float(lasts_s), now, lasts=True)
    return intent.model_copy(update={"policy": policy, "ending": ending})
