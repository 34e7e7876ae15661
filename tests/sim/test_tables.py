"""The controller's desired states in embedded switches of this process."""

from csaud_controller.inventory import leaf_spine
from csaud_controller.paths.live import ALL_UP
from csaud_controller.policy.intent import Intent
from csaud_sim.fabric import SimulatedFabric
from csaud_softswitch._core import Switch


def contents(switch: Switch) -> dict[str, object]:
    tables = {table["name"]: table for table in switch.tables()}
    held: dict[str, object] = {
        name: sorted(map(repr, switch.table_entries(name)))
        for name, table in tables.items()
        if name.startswith("Csaud")
    }
    for profile in switch.profiles():
        held[profile["name"]] = sorted(map(repr, switch.groups(profile["name"])))
    return held


def test_tables_follow_a_link_that_fails_and_comes_back() -> None:
    fabric = SimulatedFabric(leaf_spine(2, 2), Intent())
    before = {name: contents(fabric.switch(name)) for name in fabric.inventory.switches}
    fabric.set_link("l1", "s1", False)
    fabric.become(fabric.live)
    during = {name: contents(fabric.switch(name)) for name in fabric.inventory.switches}
    fabric.set_link("l1", "s1", True)
    assert fabric.live == ALL_UP
    fabric.become(fabric.live)
    after = {name: contents(fabric.switch(name)) for name in fabric.inventory.switches}
    assert during["l2"] != before["l2"]  # it must not send by s1 what is for l1
    assert after == before
