"""fabric.json has two readers: the inventory, and the embedded switch, which runs without the inventory's
package and passes over what is of no concern to it. Of what both read they think the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from csaud_controller.inventory import ClientTls, Fabric, ServerTls, fat_tree, leaf_spine, load_fabric
from csaud_softswitch.fabric_file import MAX_PORT as SWITCHES_MAX_PORT
from csaud_softswitch.fabric_file import read_fabric_file

FABRICS = Path(__file__).parents[2] / "topologies" / "fabrics"


def with_everything() -> Fabric:
    """Links that differ, memory links, addresses, and TLS of the fabric and of one switch."""
    fabric = leaf_spine(2, 2).with_addresses({"l1": "127.0.0.1:9559"})
    links = {"rate": 10_000_000, "delay": 5_000, "buffer": 33}
    edges = [fabric.edges[0].model_copy(update=links), *fabric.edges[1:]]
    l2 = fabric.switches["l2"].model_copy(
        update={"tls": ServerTls(cert=Path("own.pem"), key=Path("own.key"))}
    )
    return fabric.model_copy(
        update={
            "links_via": "memory",
            "edges": edges,
            "switches": {**fabric.switches, "l2": l2},
            "tls": ServerTls(cert=Path("c.pem"), key=Path("c.key"), cacert=Path("ca.pem"), client_auth=True),
            "tls_client": ClientTls(cacert=Path("ca.pem"), server_name="switch"),
        }
    )


CASES = {
    "leaf-spine": leaf_spine(2, 3, 4),
    "fat-tree": fat_tree(4),
    "everything": with_everything(),
    **{path.stem: load_fabric(path) for path in sorted(FABRICS.glob("*.yaml"))},
}


@pytest.mark.parametrize("name", CASES)
def test_both_readers_think_the_same(name: str, tmp_path: Path) -> None:
    file = tmp_path / "fabric.json"
    file.write_text(CASES[name].to_json())
    ours, theirs = load_fabric(file), read_fabric_file(file)
    assert (theirs.name, theirs.links_via) == (ours.name, ours.links_via)
    assert {n: (s.device_id, s.address or None) for n, s in theirs.switches.items()} == {
        n: (s.device_id, s.p4runtime) for n, s in ours.switches.items()
    }
    assert [(e.a, e.a_port, e.b, e.b_port) for e in theirs.edges] == [
        (e.a, e.a_port, e.b, e.b_port) for e in ours.edges
    ]
    for edge, entry in zip(ours.edges, theirs.edges, strict=True):
        link = ours.link_of(edge)
        assert (entry.link.rate_bps, entry.link.delay_ns) == (link.rate, link.delay)
        assert entry.link.buffer_packets == link.buffer
    for n, switch in ours.switches.items():
        tls, read = switch.tls or ours.tls, theirs.switches[n].tls
        assert (tls is None) == (read is None)
        if tls is not None and read is not None:
            assert (read.cert, read.key, read.cacert) == (tls.cert, tls.key, tls.cacert)
            assert read.client_auth == tls.client_auth
    client, seen = ours.tls_client, theirs.tls_client
    assert (client is None) == (seen is None)
    if client is not None and seen is not None:
        assert (seen.cacert, seen.cert, seen.key) == (client.cacert, client.cert, client.key)
        assert seen.name == client.server_name


def test_the_least_file_means_the_same_to_both(tmp_path: Path) -> None:
    """Where nothing is said of links."""
    file = tmp_path / "fabric.json"
    file.write_text(
        '{"name": "one", "switches": {"a": {"device_id": 1}, "b": {"device_id": 2}},'
        ' "edges": [{"a": "a", "a_port": 1, "b": "b", "b_port": 1}]}'
    )
    ours, [theirs] = load_fabric(file), read_fabric_file(file).edges
    link = ours.link_of(ours.edges[0])
    read = (theirs.link.rate_bps, theirs.link.delay_ns, theirs.link.buffer_packets)
    assert read == (link.rate, link.delay, link.buffer)


def test_the_switch_takes_every_port_of_the_inventory() -> None:
    from csaud_controller.inventory import MAX_PORT

    assert MAX_PORT <= SWITCHES_MAX_PORT
