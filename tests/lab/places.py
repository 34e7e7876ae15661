"""Labs for tests."""

from __future__ import annotations

from pathlib import Path

from csaud_controller.inventory import leaf_spine
from csaud_lab.site import Site, load_site

NOWHERE = "hosts: {h1: {address: 127.0.0.1, port: 1}, h2: {address: 127.0.0.1, port: 2}}\n"


def nowhere(folder: Path, text: str = "", *, ipv6: bool = False) -> Site:
    """A lab of which nothing answers."""
    wired = leaf_spine(1, 0, 2).with_ipv6() if ipv6 else leaf_spine(1, 0, 2)
    addressed = wired.with_addresses(dict.fromkeys(wired.switches, "127.0.0.1:1"))
    (folder / "fabric.yaml").write_text(addressed.to_json())
    (folder / "lab.yaml").write_text(f"fabric: fabric.yaml\ndirectory: control\n{NOWHERE}{text}")
    return load_site(folder / "lab.yaml")
