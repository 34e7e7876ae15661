"""Keys and certificates: of ssh on both sides, and of P4Runtime over mutual TLS."""

from __future__ import annotations

from pathlib import Path

from csaud_lab.rehearsal.commands import run

SERVER_NAME = "switch"
_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30")


def certificates(folder: Path) -> None:
    """ca.pem, and what it signed for the switches (switch.pem) and for the controller (controller.pem)."""
    folder.mkdir(parents=True)
    new = ("openssl", "req", "-x509", *_KEY)
    run(*new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=lab", cwd=folder)
    for name in (SERVER_NAME, "controller"):
        run(
            *(*new, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}"),
            *("-addext", f"subjectAltName=DNS:{name}", "-CA", "ca.pem", "-CAkey", "ca.key"),
            cwd=folder,
        )


def ssh_keys(folder: Path, hosts: dict[str, str]) -> None:
    """The user's key, one for each host, and known_hosts; `hosts`: their addresses by name."""
    folder.mkdir(parents=True)
    lines = []
    for name in ("id_ed25519", *(f"host_{host}" for host in hosts)):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name)
    for host, address in hosts.items():
        lines.append(f"{address} {(folder / f'host_{host}.pub').read_text()}")
    (folder / "known_hosts").write_text("".join(lines))
