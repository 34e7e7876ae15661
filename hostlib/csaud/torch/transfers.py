"""send and recv."""

from typing import Any

from csaud.errors import CsaudError
from csaud.groups.group import Group
from csaud.torch.calls import Calls, inward, only, outward
from csaud.torch.mailbox import Mailbox
from csaud.torch.views import movable

_PLAIN = 0  # tag of those who give none


class Transfers(Calls):
    """Tensors from rank to rank; those of one tag arrive in order, those of several in any."""

    def send(self, tensors: Any, dst: int, tag: int = _PLAIN) -> Any:
        """Send the tensor to rank `dst`, which calls `recv` with the same tag."""
        tensor = only(tensors)
        _check(tag)
        if dst == self.rank():
            handle = self._own_mail(tag).send(tensor)
        else:
            source = movable(inward(tensor))
            handle = self._start("send", tag, lambda lane, **how: lane.send(source, dst, **how))
        return self._work(f"send to rank {dst}", [handle], [tensor])

    def recv(self, tensors: Any, src: int, tag: int = _PLAIN) -> Any:
        """Receive into the tensor what rank `src` sends with this tag; of the same size."""
        tensor = only(tensors)
        _check(tag)
        if src == self.rank():
            handle, finish = self._own_mail(tag).receive(tensor), None
        else:
            array, finish = outward(tensor)
            array = movable(array)
            handle = self._start("recv", tag, lambda lane, **how: lane.recv(array, src, **how))
        return self._work(f"recv from rank {src}", [handle], [tensor], finish, source=src)

    def recv_anysource(self, tensors: Any, tag: int = _PLAIN) -> Any:
        """There is none: who receives asks for what is missing, and so has to know of whom."""
        del tensors, tag
        raise RuntimeError("csaud: recv from any source is not supported: name the rank (src)")

    def _start(self, what: str, tag: int, start: Any) -> Any:
        try:
            return start(self._lane(tag), wait=False, timeout=self._longest(self._limit))
        except CsaudError as error:
            raise self._error(what, error) from error

    def _lane(self, tag: int) -> Group:
        """The library's group for messages of a tag, which it does not know: one for each."""
        if tag == _PLAIN:
            return self._group
        lane = self._lanes.get(tag)
        if lane is None:
            lane = self._lanes[tag] = self._job.lane(self._group, tag)
        return lane

    def _own_mail(self, tag: int) -> Mailbox:
        return self._mail.setdefault(tag, Mailbox())

    _lanes: dict[int, Group]
    _mail: dict[int, Mailbox]


def _check(tag: int) -> None:
    if tag < 0:
        raise ValueError(f"csaud: tag={tag}: expected 0 or more")
