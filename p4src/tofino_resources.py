"""What a compiled program takes of its chip: ``python p4src/tofino_resources.py build/tofino/TARGET...``.

From `resources.json` and `phv.json`, which p4c's Tofino backend writes into a folder's ``pipe/logs`` with -g.
Numbers are of one pipeline (ingress and egress share its stages): used, there.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any


def used_and_there(folder: Path) -> dict[str, tuple[int, int]]:
    """(used, there) by resource of the match-action stages, and of the PHV."""
    logs = folder / "pipe" / "logs"
    mau = json.loads((logs / "resources.json").read_text())["resources"]["mau"]
    stages = mau["mau_stages"]
    found = {
        name: (sum(len(stage[key][items]) for stage in stages), mau["nStages"] * size(stages[0][key]))
        for name, (key, items, size) in _OF_A_STAGE.items()
    }
    return found | _containers(json.loads((logs / "phv.json").read_text()))


def _grid(block: dict[str, Any]) -> int:
    return int(block["nRows"] * (block["nColumns"] if "nColumns" in block else block["nUnits"]))


_OF_A_STAGE = {
    "logical tables": ("logical_tables", "ids", lambda block: int(block["size"])),
    "SRAM blocks": ("rams", "srams", _grid),
    "map RAM blocks": ("map_rams", "maprams", _grid),
    "TCAM blocks": ("tcams", "tcams", _grid),
    "gateways": ("gateways", "gateways", _grid),
    "hash bits": ("hash_bits", "bits", lambda block: int(block["nBits"] * block["nFunctions"])),
    "hash distribution units": (
        "hash_distribution_units", "units", lambda block: int(block["nHashIds"] * block["nUnitIds"]),
    ),
    "statistics ALUs": ("statistic_alus", "stats", lambda block: int(block["nAlus"])),
    "stateful and selector ALUs": ("meter_alus", "meters", lambda block: int(block["nAlus"])),
}  # fmt: skip


def _containers(phv: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """PHV containers that hold a field, by width, of every kind that the chip has."""
    taken = {c["phv_number"] for c in phv["containers"] if c["slices"]}
    there: Counter[str] = Counter()
    used: Counter[str] = Counter()
    for group in phv["resources"]:
        if group["group_type"] == "mau":  # "deparser" groups the same ones otherwise
            name = f"{group['bit_width']:2}-bit PHV containers"
            there[name] += group["num_containers"]
            used[name] += len(taken & set(group["addresses"]))
    return {name.strip(): (used[name], there[name]) for name in sorted(there)}


def main() -> int:
    if not sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    columns = [used_and_there(Path(folder)) for folder in sys.argv[1:]]
    print("| |", " | ".join(Path(folder).name for folder in sys.argv[1:]), "|")
    print("| --- |", " --- |" * len(columns), sep="")
    for name in dict.fromkeys(name for column in columns for name in column):
        cells = [f"{column[name][0]} of {column[name][1]}" if name in column else "" for column in columns]
        print(f"| {name} |", " | ".join(cells), "|")
    return 0


if __name__ == "__main__":
    sys.exit(main())
