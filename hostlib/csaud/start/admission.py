"""Whether the members of a job can go on with a newcomer: what would end the job at them is found at the
door."""

from csaud.config.settings import Settings
from csaud.errors import ConfigError
from csaud.rendezvous.table import Card, Table
from csaud.start.seat import too_narrow


def obstacle(settings: Settings, address: str, table: Table, card: Card) -> str:
    """Why a rank could not go on with a newcomer; empty where it can.

    Args:
        address: of the rank's device.
        table: of the members.
        card: the newcomer's.
    """
    if settings.segmentation == "on" and card.mode != "udp":
        return f"segmentation=on needs mode=udp at every rank; the newcomer uses {card.mode}"
    if settings.auth != "off" and card.mode == "verbs":
        return f"auth={settings.auth} needs device=soft at every rank; the newcomer uses verbs"
    try:
        return too_narrow(address, min(table.mtu, card.mtu), card, "the newcomer")
    except ConfigError as error:
        return f"this job cannot reach the newcomer: {error}"
