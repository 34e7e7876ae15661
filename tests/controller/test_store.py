"""The store that controllers share: over TLS, and while it is away."""

import contextlib
import shutil
import socket
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from csaud_controller.control.client import ControlError, ask, wait_programmed
from csaud_controller.desired import shared
from csaud_controller.desired.shared import SharedStore
from csaud_controller.desired.store import Stored
from csaud_controller.inventory import leaf_spine
from csaud_runs.etcd import Etcd, Place, StoreError, TlsFiles, parse_place, tls_context

from tests.controller.soft import PATIENCE_S, controller_process, run_directory, switch_process
from tests.controller.test_tls import certificates
from tests.support.etcd import HOST, etcd_server, until_there


def test_a_lease_is_given_back_within_its_time_or_not_at_all() -> None:
    """Endpoints that take connections and say nothing: the time is that of all, not of each."""
    with contextlib.ExitStack() as silent:
        servers = [silent.enter_context(socket.create_server((HOST, 0))) for _ in range(3)]
        store = Etcd(Place(tuple((HOST, server.getsockname()[1]) for server in servers), "x"))
        with pytest.raises(StoreError) as told:
            store.revoke("1", within_s=0.05)
    assert str(told.value).count("there was no time left to ask it") == 2


@pytest.mark.etcd
def test_a_fabric_that_could_not_be_loaded_again_does_not_get_into_the_store(tmp_path: Path) -> None:
    with etcd_server(tmp_path / "etcd") as server:
        place = parse_place(server.url, "csaud/x")
        store = SharedStore(Etcd(place), place.prefix, "a")
        until_there(store.held)
        store.take(store.held())
        good = leaf_spine(1, 1)
        store.save_fabric(good)
        with pytest.raises(StoreError, match=r"could not be loaded again: .*p4runtime"):
            store.save_fabric(good.with_addresses({"l1": "unix:run/l1.sock"}))
        assert store.fabric() == good


@pytest.mark.etcd
def test_a_term_is_above_those_before_it_whatever_the_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Switches obey the controller of the highest one, and the next to be primary may have a slow clock."""
    with etcd_server(tmp_path / "etcd") as server:
        place = parse_place(server.url, "csaud/x")
        stores = [SharedStore(Etcd(place), place.prefix, name) for name in ("a", "b", "a")]
        until_there(stores[0].held)
        monkeypatch.setattr(shared, "time", SimpleNamespace(time=lambda: 7.0))
        terms = [store.take(store.held()) for store in stores]
    assert terms == [7, 8, 9]


@pytest.mark.etcd
def test_terms_are_kept_over_mutual_tls(tmp_path: Path) -> None:
    (folder := tmp_path / "pki").mkdir()
    pki = certificates(folder)
    with etcd_server(tmp_path / "etcd", tls=pki) as server:
        place = parse_place(server.url.replace(HOST, "localhost"), "csaud/x")
        ours = TlsFiles(pki / "ca.pem", pki / "controller.pem", pki / "controller.key").context
        store = SharedStore(Etcd(place, ours), place.prefix, "a")
        until_there(store.held)
        term = store.take(store.held())
        assert term is not None and store.held().name == "a"
        store.save(Stored(revision=7))
        store.renew()
        kept = store.load()
        assert kept is not None and kept.revision == 7
        for context, said in (
            (tls_context(pki / "stranger.pem", None, None), "certificate verify failed"),
            (tls_context(pki / "ca.pem", None, None), "certificate required|Connection reset|EOF|alert"),
            (None, "400|Remote end closed|Connection reset"),
        ):
            with pytest.raises(StoreError, match=said):
                SharedStore(Etcd(place, context and (lambda made=context: made)), place.prefix, "b").held()


def test_certificates_of_the_store_are_named_where_they_are_of_no_use(tmp_path: Path) -> None:
    pki = certificates(tmp_path)
    nowhere, no_pem = pki / "nowhere.pem", "not a certificate( and its key)? in PEM format: "
    for files, says in (
        ((nowhere, None, None), f"{nowhere}: No such file or directory"),
        ((pki / "empty.pem", None, None), f"{pki}/empty.pem: {no_pem}"),
        ((pki / "ca.pem", pki / "controller.pem", nowhere), f"{nowhere}: No such file or directory"),
        (
            (pki / "ca.pem", pki / "controller.pem", pki / "localhost.key"),
            f"{pki}/controller.pem, {pki}/localhost.key: {no_pem}",
        ),
    ):
        with pytest.raises(StoreError, match=f"^TLS of the store: {says}"):
            tls_context(*files)


@pytest.mark.etcd
def test_while_the_store_is_away_nothing_is_changed_and_afterwards_it_goes_on(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(etcd_server(tmp_path / "etcd"))
        run = stack.enter_context(run_directory(leaf_spine(1, 1)))
        stack.enter_context(switch_process(run))
        process = stack.enter_context(controller_process(run, "--store", server.url, "--name", "a"))
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(ControlError):
                if "status" in ask(run.control_socket, "status"):
                    break
            assert time.monotonic() < deadline, process.log
        wait_programmed(run.control_socket, PATIENCE_S)
        server.kill()
        before = ask(run.control_socket, "intent")
        with pytest.raises(ControlError, match=f"nothing was changed: .*{HOST}"):
            ask(run.control_socket, "policy.set", policy={"spray": "random"})
        found = ask(run.control_socket, "status")
        assert (found["intent"], found["revision"]) == (before["intent"], before["revision"])
        assert all(each["in_sync"] for each in found["status"]["switches"].values())
        server.start()
        while True:
            try:
                done = ask(run.control_socket, "policy.set", policy={"spray": "random"})
                break
            except ControlError:
                assert time.monotonic() < deadline, process.log
        assert done["revision"] == before["revision"] + 1 and not done["pending"]


def test_certificates_of_the_store_may_be_replaced(tmp_path: Path) -> None:
    pki, new = certificates(tmp_path), tmp_path / "new"
    new.mkdir()
    certificates(new)
    files = TlsFiles(pki / "ca.pem", pki / "controller.pem", pki / "controller.key")
    first = files.context()
    shutil.copy(new / "controller.pem", pki)  # its key is to follow
    assert files.context() is first
    for name in ("controller.key", "ca.pem"):
        shutil.copy(new / name, pki)
    last = files.context()
    assert last.get_ca_certs() != first.get_ca_certs()
    assert files.context() is last
