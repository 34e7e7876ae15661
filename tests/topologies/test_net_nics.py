"""A fabric file with names as people give them, and a host with two NICs, in namespaces."""

from __future__ import annotations

import pytest

from tests.topologies.fabrics import waiting_fabric
from tests.topologies.runs import PATIENCE_S

pytestmark = pytest.mark.root

POD = """\
name: pod
switches:
  leaf-a-01.pod3.dc1.example.com: {device_id: 1, interfaces: {1: Ethernet0}}
  leaf-a-02.pod3.dc1.example.com: {device_id: 2}
  spine-01: {role: spine, device_id: 3}
hosts:
  gpu-01:
    nics:
      - {name: eth0, ip: 10.0.1.1, ip6: "2001:db8:1::1", mac: "02:00:0a:00:01:01"}
      - {name: eth1, ip: 10.0.1.2, ip6: "2001:db8:1::2", mac: "02:00:0a:00:01:02"}
  gpu-02: {ip: 10.0.2.1, ip6: "2001:db8:2::1", mac: "02:00:0a:00:02:01"}
edges:
  - {a: leaf-a-01.pod3.dc1.example.com, a_port: Ethernet0, b: spine-01, b_port: 1}
  - {a: leaf-a-02.pod3.dc1.example.com, a_port: 1, b: spine-01, b_port: 2}
  - {a: leaf-a-01.pod3.dc1.example.com, a_port: 2, b: gpu-01, b_port: eth0}
  - {a: leaf-a-01.pod3.dc1.example.com, a_port: 3, b: gpu-01, b_port: eth1}
  - {a: leaf-a-02.pod3.dc1.example.com, a_port: 2, b: gpu-02, b_port: 0}
"""


def test_each_nic_sends_and_is_reached_by_its_own_port(tmp_path):
    (tmp_path / "pod.yaml").write_text(POD)
    with waiting_fabric(tmp_path, "pod.yaml") as fabric:
        for address in ("10.0.1.1", "10.0.1.2", "2001:db8:1::1", "2001:db8:1::2"):
            to = "2001:db8:2::1" if ":" in address else "10.0.2.1"
            ping = ("ping", "-c", "3", "-W", "5", "-I", address, to)
            done = fabric.net("exec", "--host", "gpu-01", "--", *ping, timeout=PATIENCE_S)
            assert " 0% packet loss" in done.stdout, done.stdout + done.stderr
