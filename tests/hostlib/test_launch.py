"""Ranks and meeting point from what torchrun and Open MPI set."""

import pytest
from csaud.config import launch
from csaud.errors import ConfigError

TORCHRUN = {"RANK": "3", "WORLD_SIZE": "8", "MASTER_ADDR": "10.0.1.1", "MASTER_PORT": "12345"}
OPENMPI = {
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
}


def test_torchrun():
    assert launch.read(TORCHRUN) == launch.Launch(3, 8, 0, 1, "10.0.1.1", 12345, "torchrun")


def test_torchruns_own_store_keeps_its_port():
    assert launch.read({**TORCHRUN, "TORCHELASTIC_USE_AGENT_STORE": "True"}).master_port == 12346


@pytest.mark.parametrize(("store", "last"), [("False", "65535"), ("True", "65534")])
def test_the_last_port_is_taken(store, last):
    place = {**TORCHRUN, "MASTER_PORT": last, "TORCHELASTIC_USE_AGENT_STORE": store}
    assert launch.read(place).master_port == 65535


def test_open_mpi_on_one_machine_needs_no_address():
    place = launch.read(OPENMPI)
    assert (place.rank, place.world, place.local_rank, place.master_addr) == (1, 4, 1, "127.0.0.1")


def test_two_open_mpi_jobs_meet_at_different_ports():
    ports = {launch.read({**OPENMPI, "PMIX_NAMESPACE": f"job-{n}"}).master_port for n in range(8)}
    assert len(ports) == 8


def test_open_mpi_on_several_machines_needs_an_address():
    with pytest.raises(ConfigError, match="MASTER_ADDR is not set"):
        launch.read({**OPENMPI, "OMPI_COMM_WORLD_LOCAL_SIZE": "2"})


def test_no_launcher_is_a_job_of_one():
    assert launch.read({}).world == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"RANK": "8"}, "RANK=8: expected less than WORLD_SIZE=8"),
        ({"RANK": "-1"}, "RANK='-1': expected a whole number"),
        ({"WORLD_SIZE": "0"}, "WORLD_SIZE=0: expected 1 to 65535"),
        ({"WORLD_SIZE": "65536"}, "WORLD_SIZE=65536: expected 1 to 65535"),
        ({"MASTER_PORT": "65536"}, "MASTER_PORT=65536: expected 0 to 65535"),
        (
            {"MASTER_PORT": "65535", "TORCHELASTIC_USE_AGENT_STORE": "True"},
            "MASTER_PORT=65535: expected 0 to 65534",
        ),
        ({"MASTER_PORT": "http"}, "MASTER_PORT='http': expected a whole number"),
    ],
)
def test_wrong_variables_are_named(change, message):
    with pytest.raises(ConfigError, match=message):
        launch.read({**TORCHRUN, **change})


def test_a_missing_variable_is_named():
    with pytest.raises(ConfigError, match="WORLD_SIZE is not set"):
        launch.read({"RANK": "0"})
