"""Remembering the state of every check, and telling people about changes."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .checks import Result
from .config import Config, NotifyConfig

log = logging.getLogger(__name__)


class State:
    """What is known from earlier runs: status, since when, last alarm."""

    def __init__(self, entries: dict[str, dict[str, Any]] | None = None) -> None:
        self.entries = entries or {}

    @classmethod
    def load(cls, path: Path) -> State:
        try:
            return cls(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return cls()
        except json.JSONDecodeError as error:
            log.warning("state file %s is damaged (%s); starting afresh", path, error)
            return cls()

    def save(self, path: Path) -> None:
        """Write to a file beside it first, so that a crash leaves the old one."""
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump(self.entries, stream, indent=2, sort_keys=True)
                stream.write("\n")
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise

    def update(self, results: Iterable[Result], now: float, repeat_after: int) -> list[Result]:
        """Take in new results and return those that people should hear about.

        That is every change, and every check which still fails after
        `repeat_after` seconds. A check seen for the first time is news only if
        it fails.
        """
        news = []
        names = set()
        for result in results:
            names.add(result.name)
            old = self.entries.get(result.name)
            entry = {"status": result.status, "detail": result.detail}
            changed = old is None or old["status"] != result.status
            entry["since"] = now if changed else old["since"]
            entry["told"] = 0.0 if changed else old.get("told", 0.0)
            if changed:
                tell = not (old is None and result.ok)
            else:
                tell = not result.ok and now - entry["told"] >= repeat_after
            if tell:
                entry["told"] = now
                news.append(result)
            self.entries[result.name] = entry
        for gone in set(self.entries) - names:
            del self.entries[gone]
        return news


def fill(template: str, result: Result) -> str:
    """Put the values of a result in place of {name}, {status} and {detail}."""
    for key in ("name", "status", "detail"):
        template = template.replace("{" + key + "}", str(getattr(result, key)))
    return template


def send(config: NotifyConfig, result: Result) -> None:
    """Tell one receiver about one result."""
    if config.kind == "log":
        level = logging.INFO if result.ok else logging.ERROR
        log.log(level, "%s: %s (%s)", result.name, result.status, result.detail)
    elif config.kind == "command":
        command = [fill(part, result) for part in config.command]
        subprocess.run(command, check=True, timeout=30)
    elif config.kind == "webhook":
        payload = {"name": result.name, "status": result.status, "detail": result.detail}
        request = urllib.request.Request(
            config.url,
            data=json.dumps(payload).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=10):
            pass
    else:
        raise ValueError(f"unknown kind of notification: {config.kind}")


def send_all(config: Config, news: Iterable[Result]) -> int:
    """Tell everybody about everything; return how many messages failed."""
    failed = 0
    for result in news:
        for receiver in config.notify:
            try:
                send(receiver, result)
            except (OSError, subprocess.SubprocessError) as error:
                failed += 1
                log.error("cannot notify by %s: %s", receiver.kind, error)
    return failed
