"""What tasks of a session fail of is heard by who started them, whoever awaits them."""

import asyncio
import logging

import pytest
from csaud_controller.switches.failures import heard_by, listening


async def fails(error: BaseException) -> None:
    raise error


async def starts(error: BaseException) -> None:
    """As finsy does: one of its tasks starts another."""
    child = asyncio.create_task(fails(error))
    await asyncio.wait([child])


def test_a_failed_task_is_told_of_to_the_one_whose_session_it_is() -> None:
    heard: dict[str, list[BaseException]] = {"a": [], "b": []}
    errors = {name: ValueError(name) for name in heard}

    async def session(name: str) -> None:
        with heard_by(heard[name].append):
            await starts(errors[name])
            idle = asyncio.create_task(asyncio.Event().wait())
        idle.cancel()
        await asyncio.wait([idle, asyncio.create_task(fails(KeyError("outside")))])

    async def main() -> None:
        with listening():
            await asyncio.gather(*map(session, heard))
            assert asyncio.get_running_loop().get_task_factory() is not None
        assert asyncio.get_running_loop().get_task_factory() is None

    asyncio.run(main())
    assert heard == {name: [error] for name, error in errors.items()}


def test_finsys_log_is_silent_meanwhile(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    log = logging.getLogger("finsy")

    async def main() -> None:
        with listening():
            log.critical("a traceback")

    handlers = list(log.handlers)
    asyncio.run(main())
    log.critical("afterwards")
    assert caplog.messages == ["afterwards"]  # whoever listens to all logs hears it again, and no earlier
    assert log.propagate and log.handlers == handlers
    assert "a traceback" not in capfd.readouterr().err
