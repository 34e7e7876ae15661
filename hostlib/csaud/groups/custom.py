"""Collectives of one's own: schedules that were registered (csaud.schedules)."""

from typing import Any

from csaud.collectives import registry
from csaud.collectives.plan import check_operations
from csaud.collectives.reductions import Reduction, reduction
from csaud.collectives.schedule import Schedule
from csaud.errors import ConfigError
from csaud.flight.record import Call
from csaud.groups.calls import Calls, Wanted, backs
from csaud.groups.operands import readable, summable, writable


class Custom(Calls):
    """run."""

    def run(
        self, name: str, array: Any, *, source: Any = None, op: str = "", count: int | None = None,
        root: int | None = None, wait: bool = True, timeout: float | None = None,
    ) -> Any:  # fmt: skip
        """The collective whose builder was registered as `name` (csaud.schedules.register).

        Args:
            array: Buffer.DATA of its schedule.
            source: Buffer.SOURCE, of the same element type.
            op: how its Reduce operations combine, as of `all_reduce`; empty: it has none.
            count: what the builder is told, the same on all ranks; None: the array's size.
            root: of a collective that has one.

        Returns:
            `array`, or a Handle.

        Raises:
            ConfigError: there is no such collective, its schedule does not fit the arrays, or reduces where
                no op is given; nothing was sent.
        """
        operand = writable(array)
        given = None if source is None else readable(source)
        element = operand.element
        if given is not None and given.element is not element:
            raise ConfigError(f"{name}: array is {element.name}, and source {given.element.name}")
        if root is not None:
            root = self._checked_rank(root)
        how: Reduction | None = reduction(op, element.name) if op else None
        called = element.name
        operand, given = summable(operand, how), None if given is None else summable(given, how)
        element = operand.element
        asked = operand.flat.size if count is None else count
        place = -1 if root is None else root

        def build() -> Schedule:
            longest = self._longest(element)
            schedule = registry.build(name, self.rank, self.size, asked, longest, place)
            check_operations(name, schedule, self.rank, longest)
            return schedule

        average = self._average(how, operand) if how is not None else []
        try:
            return self._run(
                Call(name, called, asked, op, place), build, element, operand.flat, array,
                Wanted(wait, timeout), reduce=how, source=None if given is None else given.flat,
                epilogues=[*average, *backs(operand)],
            )  # fmt: skip
        except (ValueError, IndexError) as error:
            if isinstance(error, ConfigError):
                raise
            self._job.check()  # of the native executor; once something was sent, the job has been ended
            raise ConfigError(f"{name}: {error}") from None
