"""Hosts whose addresses are of several /16 reach each other."""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path

import pytest
from csaud_controller.inventory import leaf_spine

from tests.topologies.fabrics import waiting_fabric

ADDRESSES = {"h1": "10.0.1.1", "h2": "10.1.1.1", "h3": "192.168.7.1"}


@pytest.mark.root
def test_hosts_of_several_networks_reach_each_other(tmp_path: Path) -> None:
    wired = leaf_spine(3, 1, 1)
    hosts = {
        name: spec.model_copy(update={"ip": IPv4Address(address)})
        for (name, spec), address in zip(wired.hosts.items(), ADDRESSES.values(), strict=True)
    }
    (tmp_path / "fabric.yaml").write_text(wired.changed(hosts=hosts).to_json())
    with waiting_fabric(tmp_path, "fabric.yaml") as fabric:
        for host in ADDRESSES:
            for other, address in ADDRESSES.items():
                if other == host:
                    continue
                said = fabric.net("exec", "--host", host, "--", "ping", "-c", "1", "-W", "5", address)
                assert said.returncode == 0, f"{host} to {other}: {said.stdout}{said.stderr}"
