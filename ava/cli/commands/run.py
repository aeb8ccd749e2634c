"""`ava run`: the quick way to start a training."""

from __future__ import annotations

import re
import shlex
from typing import Any

import click

from ava.cli.app import App, as_json
from ava.cli.param_types import CORES, SIZE
from ava.cli.runs import report_started


@click.command(context_settings={"ignore_unknown_options": False})
@click.option(
    "--image", required=True, metavar="IMAGE", help="Image name (see `ava image list`) or full reference."
)
@click.option("--name", metavar="NAME", help="Name of the definition; default: from the image.")
@click.option("--gpu", type=click.IntRange(0, 1024), default=0, show_default=True, help="GPUs per pod.")
@click.option("--cpu", type=CORES, default="1", show_default=True, help="Cores per pod.")
@click.option("--memory", type=SIZE, default="1GiB", show_default=True, help="Memory per pod.")
@click.option("--replicas", type=click.IntRange(1, 512), default=1, show_default=True, help="Number of pods.")
@click.option("--gpu-model", metavar="MODEL", help="See `ava cluster show`.")
@click.option("--node", metavar="NODE", help="See `ava cluster show`.")
@click.option("--queue", default="default", show_default=True, metavar="QUEUE")
@click.option(
    "--cluster",
    default="default",
    show_default=True,
    metavar="CLUSTER",
    help="'any': the first one with enough resources.",
)
@click.option("--priority", type=click.IntRange(0, 100), default=50, show_default=True)
@click.option("--retries", type=click.IntRange(0, 20), default=0, show_default=True)
@click.option(
    "--after", multiple=True, metavar="RUN", help="Run that must succeed first: an id or a training's name."
)
@click.option("--time-limit", type=click.IntRange(1), metavar="SECONDS")
@click.option(
    "--data", "data", multiple=True, metavar="NAME[:rw]", help="Data set, mounted at /data/NAME; repeatable."
)
@click.option("--env", "env", multiple=True, metavar="NAME=VALUE", help="Repeatable.")
@click.option("--git", "git", metavar="URL@COMMIT", help="Code to clone.")
@click.option("--git-key", metavar="NAME", help="Deploy key for it.")
@click.option("--key", metavar="KEY", help="Idempotency key.")
@click.option("--wait", is_flag=True, help="Wait until the run ends; exit status 1 if it did not succeed.")
@click.option("--follow", "-f", is_flag=True, help="Follow the log, then as --wait.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@as_json
@click.pass_obj
def run(
    app: App,
    /,
    command: tuple[str, ...],
    wait: bool,
    follow: bool,
    json_: bool,
    key: str | None,
    **chosen: Any,
) -> int:
    """Start a training: ava run --image IMAGE --gpu 1 -- python train.py."""
    if len(command) == 1 and re.search(r"\s", command[0]):
        raise click.BadParameter(
            f"{command[0]!r} in quotes is the name of one program. Remove the quotes, or run the line in a shell:"
            f" sh -c {shlex.quote(command[0])}",
            param_hint="COMMAND",
        )
    ava = app.client()
    started = ava.start(chosen["name"] or _name(chosen["image"]), _spec(command, chosen), key=key)
    return report_started(ava, started, wait=wait, follow_=follow, json=json_)


def _spec(command: tuple[str, ...], chosen: dict[str, Any]) -> dict[str, Any]:
    each = {"gpu": chosen["gpu"], "cpu": chosen["cpu"], "memory": chosen["memory"]}
    spec: dict[str, Any] = {
        "kind": "training",
        "image": chosen["image"],
        "command": list(command),
        "roles": [{"name": "worker", "replicas": chosen["replicas"], "each": each}],
        "env": dict(_pairs(chosen["env"])),
        "data_sets": [{"name": d.removesuffix(":rw"), "write": d.endswith(":rw")} for d in chosen["data"]],
    }
    spec |= {k: chosen[k] for k in ("queue", "cluster", "priority", "retries")}
    spec |= {k: chosen[k] for k in ("gpu_model", "node", "time_limit") if chosen[k] is not None}
    spec |= {"after": list(chosen["after"])} if chosen["after"] else {}
    if chosen["git"]:
        url, _, commit = chosen["git"].rpartition("@")
        spec["git"] = {"url": url, "commit": commit} | (
            {"key": chosen["git_key"]} if chosen["git_key"] else {}
        )
    return spec


def _pairs(given: tuple[str, ...]) -> list[tuple[str, str]]:
    for text in given:
        if "=" not in text:
            raise click.BadParameter(f"invalid value {text!r}: expected NAME=VALUE", param_hint="--env")
    return [(name, value) for name, _, value in (text.partition("=") for text in given)]


def _name(image: str) -> str:
    """Return a name derived from an image."""
    last = image.split("@")[0].rsplit("/", 1)[-1].split(":")[0].lower()
    return re.sub(r"[^a-z0-9._-]+", "-", last).strip("-._") or "training"
