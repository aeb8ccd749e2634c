"""`ava workbench`."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ava.cli import output
from ava.cli.app import App, as_json
from ava.cli.output import done, note, print_json, say, table
from ava.cli.param_types import CORES, SIZE
from ava.cli.runs import ENDED
from ava.domain.problems import ApiError, Problem

if TYPE_CHECKING:
    from ava.client import Client
    from ava.schemas.workbenches import SshOut, WorkbenchOut

BEGIN, END = "# ava: begin of workbenches", "# ava: end of workbenches"


@click.group()
def workbench() -> None:
    """Create, start and stop workbenches; configure ssh access."""


@workbench.command("list")
@as_json
@click.pass_obj
def list_(app: App, json_: bool) -> None:
    """List your workbenches."""
    found = list(app.client().workbenches())
    if json_:
        print_json(found)
    else:
        table(("NAME", "STATE", "URL"), [(w.name, state(w), w.url) for w in found])


@workbench.command()
@click.argument("name")
@click.option(
    "--image", required=True, metavar="IMAGE", help="Image name (see `ava image list`) or full reference."
)
@click.option("--gpu", type=click.IntRange(0, 1024), default=0, show_default=True)
@click.option("--cpu", type=CORES, default="1", show_default=True)
@click.option("--memory", type=SIZE, default="2GiB", show_default=True)
@click.option(
    "--disk", type=SIZE, help="Size of a local disk on the node, mounted at /disk in all runs; default: none."
)
@click.option("--gpu-model", metavar="MODEL", help="See `ava cluster show`.")
@click.option("--node", metavar="NODE", help="See `ava cluster show`.")
@click.option("--queue", default="default", show_default=True, metavar="QUEUE")
@as_json
@click.pass_obj
def create(app: App, /, name: str, json_: bool, **chosen: Any) -> None:
    """Create a workbench; start it with `ava workbench start`."""
    each = {part: chosen[part] for part in ("gpu", "cpu", "memory")}
    spec: dict[str, Any] = {"kind": "workbench", "image": chosen["image"], "queue": chosen["queue"]}
    spec |= {"roles": [{"each": each}]}
    spec |= {key: chosen[key] for key in ("gpu_model", "node", "disk") if chosen[key] is not None}
    created = app.client().define(name, spec)
    if json_:
        print_json(created)
    else:
        note(f"Created {created.name} ({created.id}). Start it: ava workbench start {created.name}")


@workbench.command()
@click.argument("name")
@click.option("--wait/--no-wait", default=True, help="Wait until it runs.")
@as_json
@click.pass_obj
def start(app: App, name: str, wait: bool, json_: bool) -> int:
    """Start a workbench (idempotent)."""
    ava = app.client()
    one = _the(ava, name)
    if one.state == "new" or one.state in ENDED:
        ava.start_definition(one.id, key=uuid.uuid4().hex)
        one = ava.workbench(one.id)
    if wait:
        one = _wait_for(ava, one, ENDED | {"running"})
    if json_:
        print_json(one)
    else:
        note(f"{one.name}: {one.state}. {one.reason}".rstrip(". ") + ".")
        if one.state == "running":
            say(one.url)
    return 1 if one.state in ENDED else 0


@workbench.command()
@click.argument("name")
@click.option("--wait/--no-wait", default=True, help="Wait until its pod is deleted.")
@as_json
@click.pass_obj
def stop(app: App, name: str, wait: bool, json_: bool) -> None:
    """Stop a workbench; its disk is kept. Idempotent."""
    ava = app.client()
    one = _the(ava, name)
    if one.run is not None and one.state not in ENDED:
        ava.stop(one.run)
    one = ava.workbench(one.id)
    if wait and one.run is not None:
        one = _wait_for(ava, one, ENDED)
    if json_:
        print_json(one)
    else:
        note(f"{one.name}: {one.state}")


@workbench.command()
@click.argument("name")
@click.argument("size", type=SIZE)
@as_json
@click.pass_obj
def resize(app: App, name: str, size: int, json_: bool) -> None:
    """Enlarge the disk of a workbench, also while it runs; shrinking is not possible."""
    ava = app.client()
    one = ava.grow_disk(_the(ava, name).id, size)
    if json_:
        print_json(one)
    elif one.disk is not None:
        note(
            f"{one.name}: disk {output.size(one.disk.size)}, requested {output.size(size)}. {one.disk.trouble}".strip()
        )


@workbench.command("set")
@click.argument("id")
@click.option(
    "--idle-stop",
    type=click.Choice(["on", "off"]),
    required=True,
    help="Whether an idle workbench is stopped.",
)
@as_json
@click.pass_obj
def set_(app: App, id: str, idle_stop: Literal["on", "off"], json_: bool) -> None:
    """Change settings of any user's workbench by its id (admin only)."""
    one = app.client().exempt_idle(id, idle_stop == "off")
    how = "not stopped" if one.idle_exempt else "stopped"
    done(f"{one.name} of {one.owner} is {how} when idle.", one, json_)


@workbench.command("ssh-config")
@click.option(
    "--write",
    is_flag=True,
    help="Write to ~/.ssh/config and ~/.ssh/ava_known_hosts; other entries are kept.",
)
@as_json
@click.pass_obj
def ssh_config(app: App, write: bool, json_: bool) -> None:
    """Print the ssh configuration of your workbenches, for `ssh ava-NAME`.

    The platform supplies known_hosts, so ssh does not ask to confirm host keys.
    """
    found = [(w.name, w.ssh) for w in app.client().workbenches() if w.ssh is not None and w.ssh.host_key]
    if not found:
        raise _none("None of your workbenches has run yet, or this site has no ssh gateway.", "workbenches")
    config, known = stanzas(found), known_hosts([ssh for _, ssh in found])
    if write:
        path = _install(config, known)
        if not json_:
            names = " or ".join(f"ava-{name}" for name, _ in found[:3])
            note(f"Wrote {len(found)} workbenches to {path}: ssh {names}")
    elif not json_:
        say(config)
        say("# ~/.ssh/ava_known_hosts:")
        for line in known.split("\n"):
            say(f"# {line}")
    if json_:
        print_json({"config": config, "known_hosts": known, "written": write})


def _install(config: str, known: str) -> Path:
    """Write both files into ~/.ssh; return the path of ssh's configuration."""
    folder = Path.home() / ".ssh"
    folder.mkdir(mode=0o700, exist_ok=True)
    _put(folder / "ava_known_hosts", known)
    path = folder / "config"
    _put(path, merged(path.read_text(encoding="utf-8") if path.exists() else "", config))
    return path


def state(one: WorkbenchOut) -> str:
    """Return the state, and when it ends for being idle."""
    return f"{one.state}, idle: stops {one.idle_until:%Y-%m-%d %H:%M} UTC" if one.idle_until else one.state


def stanzas(found: list[tuple[str, SshOut]]) -> str:
    """Return the part of ssh's configuration: the gateway, and each workbench through it."""
    jump = found[0][1]
    lines = [
        "Host ava-gateway",
        f"  HostName {jump.jump_host}",
        f"  Port {jump.jump_port}",
        f"  User {jump.jump_user}",
        "  HostKeyAlias ava-gateway",
        "  UserKnownHostsFile ~/.ssh/ava_known_hosts",
        "  StrictHostKeyChecking yes",
    ]
    for name, ssh in found:
        lines += [
            f"Host ava-{name}",
            f"  HostName {ssh.host}",
            f"  Port {ssh.port}",
            f"  User {ssh.user}",
            "  ProxyJump ava-gateway",
            f"  HostKeyAlias {ssh.host.partition('.')[0]}",
            "  UserKnownHostsFile ~/.ssh/ava_known_hosts",
            "  StrictHostKeyChecking yes",
        ]
    return "\n".join(lines)


def known_hosts(found: list[SshOut]) -> str:
    """Return the host keys of the gateway and of workbenches, by the names that the stanzas give them."""
    lines = [f"ava-gateway {found[0].jump_host_key}"]
    lines += [f"{ssh.host.partition('.')[0]} {ssh.host_key}" for ssh in found]
    return "".join(f"{line}\n" for line in lines)


def merged(there: str, config: str) -> str:
    """Return a configuration with ours before what else is there; what was ours before gives way."""
    before, begin, rest = there.partition(f"{BEGIN}\n")
    _, end, after = rest.partition(f"{END}\n")
    others = before + (after if begin and end else "")
    # ssh takes the first value that it finds: a "Host *" of the user's must not come before.
    return f"{BEGIN}\n{config}\n{END}\n{others}"


def _put(path: Path, text: str) -> None:
    """Write a file at once or not at all, for its owner alone."""
    new = path.with_name(f".{path.name}.ava")
    new.unlink(missing_ok=True)
    new.touch(mode=0o600)
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def _wait_for(ava: Client, one: WorkbenchOut, states: Collection[str]) -> WorkbenchOut:
    """Return a workbench whose run has one of the states; it is asked for again when its run has changed."""
    while one.run is not None and one.state not in states:
        watched = one.run
        for _ in ava.watch(watched):
            one = ava.workbench(one.id)
            # Another run has begun meanwhile: this one changes no more.
            if one.state in states or one.run != watched:
                break
    return one


def _the(ava: Client, name: str) -> WorkbenchOut:
    for one in ava.workbenches():
        if name in (one.name, one.id):
            return one
    raise _none(f"You have no workbench {name}.", name)


def _none(what: str, found: str) -> ApiError:
    problem = Problem(
        "not-found", what, "NAME", found, "a workbench of yours", "See `ava workbench list`, or make one."
    )
    return ApiError(404, problem)
