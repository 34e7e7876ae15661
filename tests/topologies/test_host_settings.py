"""What hosts are told of the fabric that they are in."""

from typing import Any

import pytest
from csaud.config.settings import Settings
from csaud_controller.inventory import Fabric, fat_tree, leaf_spine
from csaud_controller.policy.model import Policy
from csaud_topologies.scenario.host_settings import host_settings


@pytest.mark.parametrize(
    ("fabric", "own", "paths"),
    [
        (leaf_spine(2, 3, 1), {}, Settings().paths),
        (fat_tree(8), {}, Settings().paths),  # sixteen ways to another pod
        (leaf_spine(2, 24, 1), {}, 24),
        (fat_tree(16), {}, 64),
        (fat_tree(16), {"paths": 8}, 8),
        (leaf_spine(1, 0, 2), {}, Settings().paths),
    ],
)
def test_hosts_have_a_path_for_each_way(fabric: Fabric, own: dict[str, Any], paths: int) -> None:
    assert host_settings(Policy(), own, fabric, "h1")["paths"] == paths
