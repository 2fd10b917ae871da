"""Reading and checking the configuration file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHECK_KINDS = ("http", "tcp", "disk")
NOTIFY_KINDS = ("log", "command", "webhook")


class ConfigError(Exception):
    """The configuration cannot be used; the message says why."""


@dataclass(frozen=True)
class CheckConfig:
    name: str
    kind: str
    target: str
    timeout: float = 10.0
    expect: str | None = None
    limit: int = 95


@dataclass(frozen=True)
class NotifyConfig:
    kind: str
    command: tuple[str, ...] = ()
    url: str = ""


@dataclass(frozen=True)
class Config:
    state: Path
    repeat_after: int = 3600
    checks: tuple[CheckConfig, ...] = ()
    notify: tuple[NotifyConfig, ...] = field(default=(NotifyConfig(kind="log"),))


def load(path: Path) -> Config:
    """Read the file and return a configuration that has been checked."""
    try:
        with path.open("rb") as stream:
            raw = tomllib.load(stream)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}") from error
    return parse(raw)


def parse(raw: dict[str, Any]) -> Config:
    """Turn the tables of the file into a configuration."""
    unknown = set(raw) - {"lighthouse", "check", "notify"}
    if unknown:
        raise ConfigError(f"unknown table: {', '.join(sorted(unknown))}")

    general = raw.get("lighthouse", {})
    repeat_after = general.get("repeat_after", 3600)
    if not isinstance(repeat_after, int) or repeat_after < 0:
        raise ConfigError("lighthouse.repeat_after must be a number of seconds")

    checks = tuple(_check(table, i) for i, table in enumerate(raw.get("check", []), 1))
    if not checks:
        raise ConfigError("there is no [[check]]")
    seen: set[str] = set()
    for check in checks:
        if check.name in seen:
            raise ConfigError(f"two checks are called {check.name!r}")
        seen.add(check.name)

    notify = tuple(_notify(table, i) for i, table in enumerate(raw.get("notify", []), 1))
    return Config(
        state=Path(general.get("state", "/var/lib/lighthouse/state.json")),
        repeat_after=repeat_after,
        checks=checks,
        notify=notify or (NotifyConfig(kind="log"),),
    )


def _check(table: dict[str, Any], number: int) -> CheckConfig:
    where = f"check {number}"
    for key in ("name", "kind", "target"):
        if not isinstance(table.get(key), str) or not table[key]:
            raise ConfigError(f"{where}: {key} is missing")
    try:
        check = CheckConfig(**table)
    except TypeError as error:
        # The message names the field that does not belong here.
        raise ConfigError(f"{where}: {error}") from error
    if check.kind not in CHECK_KINDS:
        raise ConfigError(f"{where}: kind must be one of {', '.join(CHECK_KINDS)}")
    if not 0 < check.timeout <= 60:
        raise ConfigError(f"{where}: timeout must be at most 60 seconds")
    if not 1 <= check.limit <= 100:
        raise ConfigError(f"{where}: limit must be between 1 and 100 per cent")
    if check.kind == "tcp" and not _is_host_port(check.target):
        raise ConfigError(f"{where}: target must be host:port")
    return check


def _notify(table: dict[str, Any], number: int) -> NotifyConfig:
    where = f"notify {number}"
    kind = table.get("kind")
    if kind not in NOTIFY_KINDS:
        raise ConfigError(f"{where}: kind must be one of {', '.join(NOTIFY_KINDS)}")
    command = tuple(table.get("command", ()))
    url = table.get("url", "")
    if kind == "command" and not command:
        raise ConfigError(f"{where}: command is missing")
    if kind == "webhook" and not url.startswith(("http://", "https://")):
        raise ConfigError(f"{where}: url must begin with http:// or https://")
    return NotifyConfig(kind=kind, command=command, url=url)


def _is_host_port(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and port.isdigit() and 0 < int(port) < 65536
