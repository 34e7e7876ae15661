"""Who has heard of a failure, and waits for those that have not."""

import csaud
import pytest
from csaud.groups.transport import Transport
from csaud.membership.service import Service


@pytest.mark.parametrize("goes_on", [True, False])
def test_who_goes_on_need_not_wait_until_all_have_heard_of_the_failure(monkeypatch, goes_on: bool) -> None:
    """Those that come to the decision know, and others are told while it is made."""
    comm = csaud.init(environ={})
    lingered: list[Transport] = []
    monkeypatch.setattr(Transport, "_drain", lambda self: lingered.append(self))
    monkeypatch.setattr(comm.transport, "_failure", csaud.PeerUnreachable(0))
    if goes_on:
        comm.shrink().close()
        assert not lingered
    else:
        monkeypatch.setattr(Service, "next", lambda *_: fails())
        with pytest.raises(csaud.NoQuorum):
            comm.shrink()
        assert lingered == [comm.transport]


def fails() -> None:
    raise csaud.NoQuorum("nobody")
