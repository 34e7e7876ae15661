"""Typed errors: every failure a user can meet is one of these, with one message that names the thing."""


class CsaudError(Exception):
    """Base of all errors that this library raises on purpose."""


class ConfigError(CsaudError, ValueError):
    """A setting, an environment variable or an argument is wrong; the message names it and what was
    expected."""


class RendezvousError(CsaudError):
    """The ranks did not find each other.

    Attributes:
        missing: the ranks that had not come when the time was over (empty where that is not the cause).
    """

    def __init__(self, message: str, missing: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.missing = missing


class NoQuorum(RendezvousError):
    """Too few of the last epoch's members were met to go on; `missing` are those that were not. Perhaps
    others go on."""


class Evicted(RendezvousError):
    """The job goes on, or has agreed on something, without this rank, which came too late."""


class DeviceError(CsaudError):
    """This rank's device has failed or was removed, and nothing can be sent or received any more; the message
    names it."""


class PeerUnreachable(CsaudError):
    """A rank does not answer any more, neither to data nor to probes.

    Attributes:
        rank: the rank that is gone, also when another rank found it out and told us.
        last_contact_s: seconds between the last packet from it and the finding; None when another rank
            found it.
    """

    def __init__(self, rank: int, last_contact_s: float | None = None) -> None:
        since = "" if last_contact_s is None else f" (last contact {last_contact_s:.1f} s ago)"
        super().__init__(f"rank {rank} is unreachable{since}")
        self.rank = rank
        self.last_contact_s = last_contact_s


class Aborted(CsaudError):
    """A rank ended the job on purpose, or this communicator was closed while an operation was running.

    Attributes:
        rank: the rank that aborted, None when unknown.
    """

    def __init__(self, message: str, rank: int | None = None) -> None:
        super().__init__(message)
        self.rank = rank


class Timeout(CsaudError, TimeoutError):
    """An operation took longer than the user allowed (setting `timeout`); the peers may well be alive."""


class MismatchError(CsaudError):
    """The ranks called different collectives: others, in another order, or with other arguments; the message
    says what each of two ranks called. Every rank gets it."""


class ProtocolError(CsaudError):
    """A peer with the right keys sent what the protocol does not allow, such as a message of another size."""
