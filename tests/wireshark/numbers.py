"""Numbers that the document, the P4 program, the native codec and the dissector must have in common."""

from __future__ import annotations

import re

Numbers = dict[str, int]


def of_document(text: str) -> dict[str, Numbers]:
    """Types and flags of the document's table of fields."""
    types = re.search(r"^\| type \| (.*?) \|$", text, re.MULTILINE)
    flags = re.search(r"^\| flags \| from the lowest bit: (.*?) \|$", text, re.MULTILINE)
    if types is None or flags is None:
        raise ValueError("the table of fields has no row for type or flags")
    return {
        "type": {name: int(number) for name, number in re.findall(r"(\w+) (\d+)", types[1])},
        "flag": {name: 1 << bit for bit, name in enumerate(flags[1].split(", "))},
    }


def reasons_of_document(text: str) -> set[int]:
    """Numbers in parentheses of the paragraph about `reason`."""
    paragraph = re.search(r"^`reason` says why(.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    if paragraph is None:
        raise ValueError("no paragraph about `reason`")
    return {
        int(n) for group in re.findall(r"\((\d+[^)]*)\)", paragraph[1]) for n in re.findall(r"\b\d+\b", group)
    }


def of_p4(text: str) -> Numbers:
    """Constants by name."""
    found = re.findall(r"^const bit<\d+> (\w+) = (0x[0-9A-Fa-f]+|\d+);", text, re.MULTILINE)
    return {name: int(value, 0) for name, value in found}


def of_codec_header(text: str) -> dict[str, Numbers]:
    """The enumerations of wire.hpp; flags without their k, in the document's spelling."""
    found: dict[str, Numbers] = {}
    for name, body in re.findall(
        r"^enum (?:class )?(\w+) : std::uint8_t {(.*?)^};", text, re.MULTILINE | re.DOTALL
    ):
        pairs = re.findall(r"^\s*(\w+) = (0x[0-9A-Fa-f]+|\d+),", body, re.MULTILINE)
        found[name.lower()] = {_upper(label): int(value, 0) for label, value in pairs}
    return found


def of_listing(values: str, field: str) -> Numbers:
    """The values of a field in tshark's listing: {text: number}."""
    rows = [row.split("\t") for row in values.splitlines() if row.startswith(f"V\t{field}\t")]
    return {row[3]: int(row[2], 0) for row in rows}


def _upper(label: str) -> str:
    """kAckReq -> ACK_REQ, probe_rsp -> PROBE_RSP."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", re.sub(r"^k(?=[A-Z])", "", label)).upper()
