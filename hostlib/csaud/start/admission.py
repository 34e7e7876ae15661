"""Whether members of a job and a newcomer can go on with each other: what would end the job is found at the
door, by either."""

from csaud.config.settings import Settings
from csaud.errors import ConfigError
from csaud.rendezvous.table import Card, Table
from csaud.start.seat import too_narrow


def obstacle(settings: Settings, address: str, table: Table, card: Card) -> str:
    """Why a member could not go on with a newcomer; empty where it can.

    Args:
        address: of the member's device.
        table: of the members.
        card: the newcomer's.
    """
    mtu = min(table.mtu, card.mtu)
    return _obstacle(settings, address, mtu, card, ("this job", "the newcomer"))


def newcomers_obstacle(settings: Settings, own: Card, card: Card) -> str:
    """Why a newcomer could not go on with a member; empty where it can.

    Args:
        own: the newcomer's card.
        card: the member's, with the MTU of the job.
    """
    mtu, me = min(own.mtu, card.mtu), "the newcomer"
    return _obstacle(settings, own.address, mtu, card, (me, f"rank {card.rank}")) or _obstacle(
        settings, own.address, mtu, own, (me, me)
    )


def _obstacle(settings: Settings, address: str, mtu: int, card: Card, whose: tuple[str, str]) -> str:
    if settings.segmentation == "on" and card.mode != "udp":
        return f"segmentation=on needs mode=udp at every rank; {whose[1]} uses {card.mode}"
    if settings.auth != "off" and card.mode == "verbs":
        return f"auth={settings.auth} needs device=soft at every rank; {whose[1]} uses verbs"
    try:
        return too_narrow(address, mtu, card, whose[1])
    except ConfigError as error:
        return f"{whose[0]} cannot reach {whose[1]}: {error}"
