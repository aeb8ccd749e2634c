"""Options that describe a quota."""

from __future__ import annotations

from typing import Any

import click

from ava.cli import specfile


def amount_of(text: str | None, read: Any) -> int | None:
    """Return the amount that an option holds; ``none`` means no limit."""
    if text is None or text == "none":
        return None
    found: int | None = read(text)
    if found is None:
        raise click.BadParameter(f"invalid amount {text!r}: expected a number with its unit, or none")
    return found


def _whole(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def quota(gpu: str, cpu: str, memory: str, storage: str, disk: str) -> dict[str, int | None]:
    """Return a quota from its options."""
    return {
        "gpu": amount_of(gpu, _whole),
        "cpu": amount_of(cpu, specfile.cpu),
        "memory": amount_of(memory, specfile.memory),
        "storage": amount_of(storage, specfile.memory),
        "disk": amount_of(disk, specfile.memory),
    }


def quota_options(command: Any) -> Any:
    """Add the options of a quota."""
    for name, default, what in (
        ("--disk", "0", "Local disk of nodes, for workbenches."),
        ("--storage", "none", "Files in the group's folder."),
        ("--memory", "0", "Memory in use at the same time."),
        ("--cpu", "0", "Cores in use at the same time."),
        ("--gpu", "0", "GPUs in use at the same time."),
    ):
        command = click.option(name, default=default, show_default=True, metavar="AMOUNT|none", help=what)(
            command
        )
    return command
