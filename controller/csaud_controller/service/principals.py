"""Who may ask what over HTTP: bearer tokens and names of client certificates, each with a role. A file has
digests of tokens, never themselves."""

from __future__ import annotations

import enum
import hashlib
import hmac
import secrets
from pathlib import Path

import yaml
from csaud_runs.whole import write_whole
from pydantic import BaseModel, ConfigDict, Field

from csaud_controller.base.yamlfile import FieldError, load_model

_TOKEN_BYTES = 32


class Role(enum.StrEnum):
    """What somebody may do; an operator may do what a viewer may."""

    VIEWER = "viewer"
    OPERATOR = "operator"

    def allows(self, other: Role) -> bool:
        """Whether this is enough where `other` is asked for."""
        return self is Role.OPERATOR or other is Role.VIEWER


class Principal(BaseModel):
    """Somebody with a token."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=64)
    role: Role
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class Holder(BaseModel):
    """Somebody with a certificate that an authority of --tls-client-ca has signed: its common name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=64)
    role: Role


class Principals(BaseModel):
    """All who have one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tokens: tuple[Principal, ...] = ()
    certificates: tuple[Holder, ...] = ()

    def of(self, token: str) -> Principal | None:
        """Whose token that is. As long for every token: all are compared, in constant time each."""
        digest = _digest(token)
        found = None
        for each in self.tokens:
            if hmac.compare_digest(each.sha256, digest):
                found = each
        return found

    def of_certificate(self, common_name: str) -> Principal | None:
        """Whose certificate has this name."""
        found = next((each for each in self.certificates if each.name == common_name), None)
        return None if found is None else Principal(name=found.name, role=found.role, sha256="0" * 64)


def load_principals(path: Path) -> Principals:
    """ConfigError with line and key; OSError."""
    return load_model(path, Principals)


def add_token(path: Path, name: str, role: Role) -> str:
    """A new token, which is in no file; FieldError: somebody of that name has one already."""
    known = load_principals(path) if path.exists() else Principals()
    if any(each.name == name for each in known.tokens):
        raise FieldError(("tokens", name), f"{name} has a token already in {path}")
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    made = Principal(name=name, role=role, sha256=_digest(token))
    _write(path, known.model_copy(update={"tokens": (*known.tokens, made)}))
    return token


def remove_token(path: Path, name: str) -> None:
    """FieldError: nobody of that name has one."""
    known = load_principals(path)
    left = tuple(each for each in known.tokens if each.name != name)
    if len(left) == len(known.tokens):
        there = ", ".join(each.name for each in known.tokens) or "nobody"
        raise FieldError(("tokens", name), f"{name} has no token in {path}; there is {there}")
    _write(path, known.model_copy(update={"tokens": left}))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _write(path: Path, principals: Principals) -> None:
    """In one step, readable by its owner alone."""
    text = yaml.safe_dump(principals.model_dump(mode="json"), sort_keys=False)
    try:
        write_whole(path, text, mode=0o600)
    except OSError as error:  # which names a file beside it
        raise OSError(error.errno, error.strerror, str(path)) from None
