"""Each job of a fabric has a secret of its own, unless the user has one."""

import pytest
from csaud_topologies.job.environment import job_secret


def test_each_job_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CSAUD_SECRET", "CSAUD_SECRET_FILE"):
        monkeypatch.delenv(name, raising=False)
    first, second = job_secret(), job_secret()
    assert first.keys() == second.keys() == {"CSAUD_SECRET"}
    assert first != second


@pytest.mark.parametrize("name", ["CSAUD_SECRET", "CSAUD_SECRET_FILE"])
def test_the_users_own_is_left_alone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "given")
    assert job_secret() == {}
