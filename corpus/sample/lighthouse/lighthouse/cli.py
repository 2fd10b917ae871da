"""The command line."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from datetime import datetime
from pathlib import Path

from . import __version__, checks, notify
from .config import Config, ConfigError, load

EXIT_OK, EXIT_FAILED, EXIT_CONFIG = 0, 1, 2


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lighthouse", description=__doc__)
    parser.add_argument(
        "-c", "--config", type=Path, default=Path("/etc/lighthouse.toml"), metavar="FILE"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="log more")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run all checks once")
    run.add_argument("--quiet", action="store_true", help="print failures only")
    commands.add_parser("status", help="print the last known state")
    commands.add_parser("validate", help="check the configuration")
    return parser


def command_run(config: Config, quiet: bool) -> int:
    state = notify.State.load(config.state)
    results = checks.run_all(config.checks)
    news = state.update(results, time.time(), config.repeat_after)
    failed_messages = notify.send_all(config, news)
    state.save(config.state)

    for result in results:
        if result.ok and quiet:
            continue
        print(f"{result.status:<6} {result.name:<20} {result.seconds:6.2f} s  {result.detail}")
    if failed_messages:
        print(f"warning: {failed_messages} messages could not be sent", file=sys.stderr)
    return EXIT_OK if all(result.ok for result in results) else EXIT_FAILED


def command_status(config: Config) -> int:
    state = notify.State.load(config.state)
    if not state.entries:
        print("nothing known yet; has `lighthouse run` been run?")
        return EXIT_OK
    for name, entry in sorted(state.entries.items()):
        since = datetime.fromtimestamp(entry["since"]).strftime("%Y-%m-%d %H:%M")
        print(f"{entry['status']:<6} {name:<20} since {since}  {entry['detail']}")
    bad = any(entry["status"] == "error" for entry in state.entries.values())
    return EXIT_FAILED if bad else EXIT_OK


def main(argv: list[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    logging.basicConfig(
        level=logging.DEBUG if args.verbose else logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    try:
        config = load(args.config)
    except ConfigError as error:
        print(f"lighthouse: {error}", file=sys.stderr)
        return EXIT_CONFIG

    if args.command == "run":
        return command_run(config, args.quiet)
    if args.command == "status":
        return command_status(config)
    print(f"{args.config}: {len(config.checks)} checks, no error found")
    return EXIT_OK


if __name__ == "__main__":
    sys.exit(main())
