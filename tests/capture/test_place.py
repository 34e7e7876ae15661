"""What a capture file says of a port."""

from csaud_controller.inventory import End, leaf_spine
from csaud_controller.inventory.specs import Breakout
from csaud_runs.directory import RunDir
from csaud_topologies.capture.place import Place


def test_the_speed_of_a_port_is_that_of_its_part_of_a_connector(tmp_path) -> None:
    fabric = leaf_spine(2, 2, 1)
    split = {"Ethernet0": Breakout(mode="2x25G", ports=(1, 2))}
    leaf = fabric.switches["l1"].model_copy(update={"breakouts": split})
    fabric = fabric.changed(
        link=fabric.link.model_copy(update={"rate": 100_000_000_000}),
        switches={**fabric.switches, "l1": leaf},
    )
    speeds = [Place(RunDir(tmp_path), fabric, End("l1", port)).interface.speed_bps for port in (1, 3)]
    assert speeds == [25_000_000_000, 100_000_000_000]
