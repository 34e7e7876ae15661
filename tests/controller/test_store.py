"""The store that controllers share: over TLS, and while it is away."""

import asyncio
import contextlib
import shutil
import socket
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from csaud_controller.control import renewing
from csaud_controller.control.client import ControlError, ask, wait_programmed
from csaud_controller.control.renewing import Renewing
from csaud_controller.desired import shared
from csaud_controller.desired.shared import Held, SharedStore, SupersededError
from csaud_controller.desired.store import Stored
from csaud_controller.inventory import leaf_spine
from csaud_controller.run.directory import RunDir
from csaud_runs.etcd import Etcd, Place, StoreError, TlsFiles, parse_place, put, tls_context

from tests.controller.soft import PATIENCE_S, controller_process, run_directory, switch_process
from tests.controller.test_tls import certificates
from tests.support.etcd import HOST, etcd_server, until_there


def until_primary(run: RunDir, process: Any, deadline: float) -> None:
    """Wait until the controller does not stand by any more."""
    while True:
        with contextlib.suppress(ControlError):
            if "status" in ask(run.control_socket, "status"):
                return
        assert time.monotonic() < deadline, process.log


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


@pytest.mark.etcd
def test_a_controller_shows_its_store_the_certificate_that_it_was_given(tmp_path: Path) -> None:
    (folder := tmp_path / "pki").mkdir()
    pki = certificates(folder)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(etcd_server(tmp_path / "etcd", tls=pki))
        run = stack.enter_context(run_directory(leaf_spine(1, 1)))
        stack.enter_context(switch_process(run))
        url = server.url.replace(HOST, "localhost")
        files = ("--store-cacert", pki / "ca.pem", "--store-cert", pki / "controller.pem",
                 "--store-key", pki / "controller.key")  # fmt: skip
        process = stack.enter_context(controller_process(run, "--store", url, *map(str, files)))
        until_primary(run, process, time.monotonic() + PATIENCE_S)
        ours = TlsFiles(pki / "ca.pem", pki / "controller.pem", pki / "controller.key").context
        place = parse_place(url, f"csaud/{run.fabric().name}")
        held = SharedStore(Etcd(place, ours), place.prefix, "b").held()
        assert held.name == f"{socket.gethostname()}:{run.path}"


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
        until_primary(run, process, deadline)
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


@pytest.mark.etcd
def test_who_is_not_primary_any_more_writes_nothing(tmp_path: Path) -> None:
    with etcd_server(tmp_path / "etcd") as server:
        place = parse_place(server.url, "csaud/x")
        etcd = Etcd(place)
        a, b = (SharedStore(Etcd(place), place.prefix, name) for name in "ab")
        until_there(a.held)
        assert (a.held(), a.load(), a.fabric()) == (Held(None), None, None)
        first = a.take(a.held())
        a.save(Stored(revision=1))
        seen = b.held()
        assert (seen.name, seen.term, seen.is_held) == ("a", first, True)
        second = b.take(seen)
        assert second is not None and second > (first or 0)
        assert a.take(seen) is None, "somebody else was, since then"
        for write in (lambda: a.save(Stored(revision=9)), lambda: a.save_fabric(leaf_spine(1, 1)), a.renew):
            with pytest.raises(SupersededError, match=r"^b is primary by now$"):
                write()
        assert (b.load(), b.fabric()) == (Stored(revision=1), None)
        b.release()
        assert not b.held().is_held
        b.renew()  # nobody has taken over meanwhile
        assert b.held() == Held(b.held().text, second, "b", True)
        b.release()  # what it renewed
        assert not b.held().is_held
        etcd.transaction({}, [put(a.key("state"), '{"revision": -1}'), put(a.key("fabric"), "{}")])
        with pytest.raises(StoreError, match=r"^csaud/x/state in the store: revision: expected greater than"):
            b.load()
        with pytest.raises(StoreError, match=r"^csaud/x/fabric in the store: name: Field required; "):
            b.fabric()
        for junk in ("junk", "[]", '{"term": 3}', '{"term": "x", "name": "c"}'):
            etcd.transaction({}, [put(a.key("term"), junk)])
            with pytest.raises(StoreError) as told:
                b.held()
            assert str(told.value) == f"csaud/x/term in the store is none of a controller: {junk!r}"


def test_a_term_is_over_when_another_is_primary_and_not_while_nobody_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(renewing, "_RENEW_S", 0.001)

    async def main(*answers: Exception | None) -> tuple[list[StoreError | None], BaseException | None]:
        left, told = [*answers], list[StoreError | None]()

        def renew() -> None:
            if left and (error := left.pop(0)) is not None:
                raise error

        async with Renewing(renew, told.append) as term, asyncio.timeout(PATIENCE_S):
            while left and not term.over.done():
                await asyncio.sleep(0.001)
            if isinstance(answers[-1], StoreError) and not isinstance(answers[-1], SupersededError):
                while answers[-1] not in told:
                    await asyncio.sleep(0.001)
                return told[: len(answers)], None  # it goes on to be renewed
            await asyncio.wait([term.over])
            return told, term.over.exception()

    away, other, mistake = StoreError("no answer"), SupersededError("b is primary by now"), KeyError("ours")
    assert asyncio.run(main(None, away)) == ([None, away], None)
    assert asyncio.run(main(None, away, None, other)) == ([None, away, None], other)
    assert asyncio.run(main(mistake)) == ([], mistake)


def test_an_event_loop_that_answers_nobody_does_not_stay_primary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewing, "_RENEW_S", 0.001)
    monkeypatch.setattr(renewing, "_STUCK_S", 0.0)
    renewed, told = list[int](), list[StoreError | None]()

    async def main() -> None:
        async with Renewing(lambda: renewed.append(1), told.append), asyncio.timeout(PATIENCE_S):
            while not told:
                await asyncio.sleep(0)

    asyncio.run(main())
    assert renewed == []
