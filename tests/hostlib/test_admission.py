"""Newcomers that the members could not go on with are refused at the door, and the job goes on."""

import dataclasses

import pytest
from csaud.config.settings import Settings
from csaud.devices import Opened
from csaud.errors import ConfigError
from csaud.rendezvous.table import Card, Table
from csaud.start.admission import newcomers_obstacle, obstacle
from csaud.start.endpoint import check_segmentation

from tests.hostlib.jobs import Job

HERE = "127.0.0.1"
TABLE = Table((Card(0, HERE, 7, 4096, "udp"),), 1, 1, 4096)


@pytest.mark.parametrize(
    ("settings", "mode", "address", "words"),
    [
        ({}, "raw", "127.0.0.9", ""),
        ({"segmentation": "on"}, "udp", "127.0.0.9", ""),
        ({"segmentation": "on"}, "raw", "127.0.0.9", "segmentation=on needs mode=udp at every rank"),
        ({"auth": "headers"}, "verbs", "127.0.0.9", "auth=headers needs device=soft at every rank"),
        ({}, "udp", "255.255.255.255", "cannot reach the newcomer: there is no route from 127.0.0.1 to 255"),
    ],
)  # fmt: skip
def test_what_would_end_the_job_is_an_obstacle(settings, mode: str, address: str, words: str) -> None:
    found = obstacle(Settings(**settings), HERE, TABLE, Card(0, address, 9, 4096, mode))
    assert words in found and bool(words) == bool(found)


def test_a_way_that_is_too_narrow_is_an_obstacle(monkeypatch) -> None:
    monkeypatch.setattr("csaud.network.addresses.link_mtu", lambda local, remote: 1500)
    found = obstacle(Settings(), HERE, TABLE, Card(0, "127.0.0.9", 9, 4096, "udp"))
    assert found.startswith("the route from 127.0.0.1 to the newcomer at 127.0.0.9 has an MTU of 1500 bytes")
    assert obstacle(Settings(), HERE, TABLE, Card(0, "127.0.0.9", 9, 1024, "udp")) == ""


@pytest.mark.parametrize(
    ("settings", "own", "mode", "address", "words"),
    [
        ({"segmentation": "on"}, "udp", "udp", "127.0.0.9", ""),
        ({}, "udp", "raw", "127.0.0.9", ""),
        ({"segmentation": "on"}, "udp", "raw", "127.0.0.9", "udp at every rank; rank 3 uses raw"),
        ({"segmentation": "on"}, "raw", "udp", "127.0.0.9", "at every rank; the newcomer uses raw"),
        ({"auth": "headers"}, "udp", "verbs", "127.0.0.9", "device=soft at every rank; rank 3 uses verbs"),
        ({}, "udp", "udp", "255.255.255.255", "the newcomer cannot reach rank 3: there is no route from"),
    ],
)  # fmt: skip
def test_what_would_end_a_newcomer_is_one(settings, own: str, mode: str, address: str, words: str) -> None:
    here, there = Card(0, HERE, 7, 4096, own), Card(3, address, 9, 4096, mode)
    found = newcomers_obstacle(Settings(**settings), here, there)
    assert words in found and bool(words) == bool(found)


def test_a_way_that_is_too_narrow_for_the_job_is_a_newcomers_obstacle(monkeypatch) -> None:
    monkeypatch.setattr("csaud.network.addresses.link_mtu", lambda local, remote: 1500)
    here, there = Card(0, HERE, 7, 4096, "udp"), Card(3, "127.0.0.9", 9, 4096, "udp")
    found = newcomers_obstacle(Settings(), here, there)
    assert found.startswith("the route from 127.0.0.1 to rank 3 at 127.0.0.9 has an MTU of 1500 bytes")
    assert newcomers_obstacle(Settings(), here, dataclasses.replace(there, mtu=1024)) == ""


@pytest.mark.parametrize("setting", ["on", "off", "auto"])
@pytest.mark.parametrize("modes", [("udp", "udp"), ("udp", "raw")], ids=" ".join)
def test_trains_that_were_asked_for_need_one_mode_everywhere(setting: str, modes: tuple[str, ...]) -> None:
    cards = [Card(rank, f"127.0.0.{rank + 1}", 7, 4096, mode) for rank, mode in enumerate(modes)]
    table, chosen = Table(tuple(cards), 1, 1, 4096), []
    opened = Opened(object(), HERE, 7, modes[0], 4096, set_segmentation=chosen.append)
    if setting == "on" and "raw" in modes:
        with pytest.raises(ConfigError) as refused:
            check_segmentation(table, opened, Settings(segmentation=setting))
        assert str(refused.value) == "segmentation=on needs mode=udp at every rank; rank 1 uses raw"
    else:
        check_segmentation(table, opened, Settings(segmentation=setting))
    assert chosen == ([False] if "raw" in modes and setting != "on" else [])


UDP, RAW = {"mode": "udp"}, {"mode": "raw"}
WHOLE = {"segmentation": "on"}


@pytest.mark.root
@pytest.mark.parametrize(
    ("members", "second", "newcomer", "words"),
    [
        (UDP | WHOLE, {}, RAW, "segmentation=on needs mode=udp at every rank; the newcomer uses raw"),
        (UDP, WHOLE, RAW, "at rank 1: segmentation=on needs mode=udp at every rank; the newcomer uses raw"),
        (UDP, RAW, UDP | WHOLE, "segmentation=on needs mode=udp at every rank; rank 1 uses raw"),
    ],
    ids=["the member at the door", "another member", "the newcomer"],
)  # fmt: skip
def test_a_job_goes_on_without_a_newcomer_where_one_cannot_go_on(members, second, newcomer, words) -> None:
    """`second`: what rank 1 has otherwise than the members."""
    arguments = {"until": 3, "timeout": 20.0, "settings": members}
    with Job(2, "grows", {**arguments, "settings_of": {"1": second}}) as job:
        door = job.workers[0].wait_for("door")["door"]
        end = job.newcomer("grows", {"join": door, "settings": newcomer}).wait_for("end")
        assert (end["error"], end["message"]) == ("ConfigError", words)
        job.newcomer("grows", {**arguments, "join": door})
        assert [end["error"] for end in job.ends([0, 1, 3])] == [None] * 3
