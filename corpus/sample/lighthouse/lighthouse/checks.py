"""The checks themselves.

A check never raises for something that is wrong with its target. It returns a
result whose `ok` is false and whose `detail` a person can read.
"""

from __future__ import annotations

import shutil
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from .config import CheckConfig

USER_AGENT = "lighthouse/1.3"
MAX_BODY = 64 * 1024


@dataclass(frozen=True)
class Result:
    name: str
    ok: bool
    detail: str
    seconds: float = 0.0

    @property
    def status(self) -> str:
        return "ok" if self.ok else "error"


def check_http(config: CheckConfig) -> tuple[bool, str]:
    """Fetch a page; it must answer 2xx and contain the expected text, if any."""
    request = urllib.request.Request(config.target, headers={"User-Agent": USER_AGENT})
    try:
        with urllib.request.urlopen(request, timeout=config.timeout) as response:
            body = response.read(MAX_BODY).decode("utf-8", errors="replace")
            code = response.status
    except urllib.error.HTTPError as error:
        return False, f"status {error.code}"
    except urllib.error.URLError as error:
        return False, str(error.reason)
    if config.expect is not None and config.expect not in body:
        return False, f"status {code}, but {config.expect!r} is not in the page"
    return True, f"status {code}"


def check_tcp(config: CheckConfig) -> tuple[bool, str]:
    """Open a connection and close it again."""
    host, _, port = config.target.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=config.timeout):
        return True, "connected"


def check_disk(config: CheckConfig) -> tuple[bool, str]:
    """The file system must be filled to less than the limit."""
    usage = shutil.disk_usage(config.target)
    # FIXME: blocks kept for root count as used, so this is a little strict.
    percent = round(100 * (usage.total - usage.free) / usage.total)
    return percent < config.limit, f"{percent} % used"


CHECKS: dict[str, Callable[[CheckConfig], tuple[bool, str]]] = {
    "http": check_http,
    "tcp": check_tcp,
    "disk": check_disk,
}


def run_one(config: CheckConfig) -> Result:
    """Run a single check and measure how long it takes."""
    start = time.monotonic()
    try:
        ok, detail = CHECKS[config.kind](config)
    except TimeoutError:
        ok, detail = False, f"no answer within {config.timeout:g} s"
    except OSError as error:
        ok, detail = False, error.strerror or str(error)
    return Result(config.name, ok, detail, time.monotonic() - start)


def run_all(configs: tuple[CheckConfig, ...], workers: int = 8) -> list[Result]:
    """Run all checks at the same time; results come in the order of the file."""
    with ThreadPoolExecutor(max_workers=max(1, min(workers, len(configs)))) as pool:
        return list(pool.map(run_one, configs))
