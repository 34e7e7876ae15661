"""What a switch tells its controller of its own accord, in a form that does not depend on when it does."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from csaud_softswitch.exchange.names import Names
from csaud_softswitch.p4runtime.proto import p4d, p4r


def told(messages: Iterable[p4r.StreamMessageResponse], names: Names) -> list[dict[str, Any]]:
    """Each digest's messages in their order, whatever lists they came in; then the entries that were idle,
    each once, however often it was told.
    """
    digests: dict[str, list[Any]] = {}
    idle: dict[str, dict[str, Any]] = {}
    for message in messages:
        if message.HasField("digest"):
            name = names.index.digests[message.digest.digest_id].name
            digests.setdefault(name, []).extend(plain(data) for data in message.digest.data)
        for entry in message.idle_timeout_notification.table_entry:
            table = names.index.tables[entry.table_id]
            key = names.key(table, list(entry.match))
            found = {"idle": table.name, "match": key, "priority": entry.priority}
            idle[json.dumps(found)] = found
    lists = [{"digest": name, "data": data} for name, data in sorted(digests.items())]
    return [*lists, *(idle[key] for key in sorted(idle))]


def plain(data: p4d.P4Data) -> Any:
    """A value without its type: hexadecimal bit strings, names, lists of members."""
    kind = data.WhichOneof("data")
    if kind in ("struct", "tuple"):
        return [plain(member) for member in getattr(data, kind).members]
    value = getattr(data, kind) if kind else None
    return f"0x{value.hex()}" if isinstance(value, bytes) else value
