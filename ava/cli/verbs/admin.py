"""`ava admin`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import click

from ava.cli import specfile
from ava.cli.app import App, as_json
from ava.cli.output import done, note, print_json, say, table
from ava.cli.verbs.account import shown_email

if TYPE_CHECKING:
    from ava.client import Client


@click.group()
def admin() -> None:
    """What administrators do."""


def number_of(text: str | None, read: Any) -> int | None:
    """Return an amount of an option: ``none`` is no limit."""
    if text is None or text == "none":
        return None
    found: int | None = read(text)
    if found is None:
        raise click.BadParameter(f"{text!r} is no amount; wanted: a number with its unit, or none")
    return found


def _whole(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def quota(gpu: str, cpu: str, memory: str, storage: str, disk: str) -> dict[str, int | None]:
    """Return a quota from its options."""
    return {
        "gpu": number_of(gpu, _whole),
        "cpu": number_of(cpu, specfile.cpu),
        "memory": number_of(memory, specfile.memory),
        "storage": number_of(storage, specfile.memory),
        "disk": number_of(disk, specfile.memory),
    }


def quota_options(command: Any) -> Any:
    """Add the options of a quota."""
    for name, default, what in (
        ("--disk", "0", "Of nodes' own disks, for workbenches."),
        ("--storage", "none", "In the group's folder."),
        ("--memory", "0", "At once."),
        ("--cpu", "0", "Cores at once."),
        ("--gpu", "0", "At once."),
    ):
        command = click.option(name, default=default, show_default=True, metavar="AMOUNT|none", help=what)(
            command
        )
    return command


@admin.command()
@click.option("--state", type=click.Choice(["pending", "active", "disabled"]))
@as_json
@click.pass_obj
def users(app: App, state: Literal["pending", "active", "disabled"] | None, json_: bool) -> None:
    """List users; with --state pending those who wait for approval."""
    found = list(app.client().users(state=state))
    if json_:
        print_json(found)
        return
    rows = [(u.name, u.state, "yes" if u.admin else "", shown_email(u), u.default_group or "") for u in found]
    table(("NAME", "STATE", "ADMIN", "EMAIL", "DEFAULT GROUP"), rows)


@admin.command()
@click.argument("name")
@click.argument("state", type=click.Choice(["active", "disabled"]))
@click.option("--stop-runs", is_flag=True, help="With disabled: stop all that the user runs.")
@as_json
@click.pass_obj
def user(app: App, name: str, state: str, stop_runs: bool, json_: bool) -> None:
    """Approve a user (active), or shut one out (disabled): that ends their logins and tokens, and stops public services."""
    if stop_runs and state == "active":
        raise click.UsageError("--stop-runs goes with the state disabled.")
    ava = app.client()
    changes = {"state": state} | ({"stop_runs": True} if stop_runs else {})
    changed = ava.change_user(name, **changes)
    done(f"{name} is {changed.state}.", changed, json_)
    if state == "disabled" and (left := _open_runs(ava, name)):
        again = "" if stop_runs else f"; to stop all of them: ava admin user {name} disabled --stop-runs"
        note(f"{name}: not finished: {', '.join(left)}{again}")


def _open_runs(ava: Client, owner: str, group: str | None = None) -> list[str]:
    """Return the runs of a user that have not finished and are not being stopped, of a group or of all."""
    phases: tuple[Literal["queued", "admitted"], ...] = ("queued", "admitted")
    found = [run for phase in phases for run in ava.runs(owner=owner, group=group, phase=phase, all=True)]
    return [run.id for run in found if run.stop is None]


@admin.command("delete-user")
@click.argument("name")
@as_json
@click.pass_obj
def delete_user(app: App, name: str, json_: bool) -> None:
    """Remove an account that nobody has approved; its name and address can be registered again."""
    app.client().delete_user(name)
    done(f"{name} is removed.", {"deleted": name}, json_)


@admin.command("send-confirmation")
@click.argument("name")
@as_json
@click.pass_obj
def send_confirmation(app: App, name: str, json_: bool) -> None:
    """Send the link again by which a user confirms an e-mail address."""
    one = app.client().send_confirmation_to(name)
    done(f"A link is on its way to {one.email}.", one, json_)


@admin.command("make-user")
@click.argument("name")
@click.argument("email")
@click.option("--admin", is_flag=True, help="With the rights of administrators.")
@as_json
@click.pass_obj
def make_user(app: App, name: str, email: str, admin: bool, json_: bool) -> None:
    """Make an account that may be used at once; `ava admin invite` makes the link by which its password is chosen."""
    made = app.client().make_user(name, email, admin=admin)
    done(f"{made.name} has an account, in no group yet. Invite: ava admin invite {made.name}", made, json_)


@admin.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@as_json
@click.pass_obj
def invite(app: App, names: tuple[str, ...], json_: bool) -> None:
    """Make links by which users choose a password, once, and print them, this once.

    A link is kept nowhere: it cannot be listed. It is void when the user has another password, or is disabled.
    """
    ava, found = app.client(), []
    for name in names:
        made = ava.invite(name)
        link = f"{app.address()}/invitation#{made.invitation}"
        found.append({"user": made.user, "link": link, "until": made.until})
        if not json_:
            # At once: the next name may be refused, and this link is in no other place.
            say(f"{made.user} {link}")
            note(f"{made.user} may use it once, until {made.until:%Y-%m-%d %H:%M} UTC.")
    if json_:
        print_json(found)


@admin.command("make-group")
@click.argument("name")
@quota_options
@as_json
@click.pass_obj
def make_group(app: App, /, name: str, json_: bool, **amounts: str) -> None:
    """Make a group with a quota."""
    made = app.client().make_group(name, quota(**amounts))
    done(f"Group {made.name} is there, gid {made.gid}.", made, json_)


@admin.command("quota")
@click.argument("group")
@quota_options
@as_json
@click.pass_obj
def set_quota(app: App, /, group: str, json_: bool, **amounts: str) -> None:
    """Change what a group may have; not below what it has now."""
    changed = app.client().set_quota(group, quota(**amounts))
    done(f"Group {group} has another quota.", changed, json_)


@admin.command()
@click.argument("group")
@click.argument("users", nargs=-1, required=True)
@click.option("--remove", is_flag=True, help="Take them out; their runs continue, but cannot grow.")
@click.option(
    "--stop-runs", is_flag=True, help="With --remove: stop their runs that are charged to the group."
)
@as_json
@click.pass_obj
def member(app: App, group: str, users: tuple[str, ...], remove: bool, stop_runs: bool, json_: bool) -> None:
    """Put users into a group."""
    if stop_runs and not remove:
        raise click.UsageError("--stop-runs goes with --remove.")
    ava = app.client()
    for name in users:
        ava.remove_member(group, name, stop_runs=stop_runs) if remove else ava.add_member(group, name)
        if remove and (left := _open_runs(ava, name, group)):
            again = f"ava admin member {group} {name} --remove --stop-runs"
            note(
                f"{name}: these runs keep the group's folder until they end: {', '.join(left)}. Stop them: {again}"
            )
    members = ava.members(group)
    done(f"Group {group}: " + ", ".join(m.name for m in members), members, json_)


@admin.command("queue")
@click.argument("name")
@click.option("--pool", metavar="POOL")
@click.option("--priority", type=click.IntRange(-1000, 1000))
@click.option("--new", is_flag=True, help="Refuse a name that exists.")
@quota_options
@as_json
@click.pass_obj
def put_queue(
    app: App, /, name: str, pool: str | None, priority: int | None, new: bool, json_: bool, **amounts: str
) -> None:
    """Create or change a queue."""
    limits = {k: v for k, v in quota(**amounts).items() if k not in ("storage", "disk")}
    settings: dict[str, Any] = {"quota": limits, "pool": pool, "priority": priority}
    stored = app.client().put_queue(name, new=new, **{k: v for k, v in settings.items() if v is not None})
    done(f"Queue {name} is there.", stored, json_)


@admin.command("delete-queue")
@click.argument("name")
@as_json
@click.pass_obj
def delete_queue(app: App, /, name: str, json_: bool) -> None:
    """Delete a queue in which no run is that has not finished."""
    app.client().delete_queue(name)
    done(f"Queue {name} is deleted.", {"deleted": name}, json_)


@admin.command("delete-pool")
@click.argument("name")
@as_json
@click.pass_obj
def delete_pool(app: App, /, name: str, json_: bool) -> None:
    """Delete a pool that no queue names and no run goes to."""
    app.client().delete_pool(name)
    done(f"Pool {name} is deleted.", {"deleted": name}, json_)


@admin.command("pool")
@click.argument("name")
@click.option("--gpu/--no-gpu", required=True, help="Whether it takes runs with GPUs, or those without.")
@click.option(
    "--label", "labels", multiple=True, metavar="KEY=VALUE", help="What its nodes have; may be repeated."
)
@click.option("--cpu-ratio", type=click.FloatRange(1, 100), default=1.0, show_default=True)
@click.option("--memory-ratio", type=click.FloatRange(1, 100), default=1.0, show_default=True)
@click.option(
    "--gpu-slots", type=click.IntRange(1, 64), default=1, show_default=True, help="Pods on one card."
)
@click.option("--new", is_flag=True, help="Refuse a name that exists.")
@as_json
@click.pass_obj
def put_pool(
    app: App, /, name: str, gpu: bool, labels: tuple[str, ...], json_: bool, **settings: Any
) -> None:
    """Create or change a pool of nodes."""
    selector = {k: v for k, _, v in (text.partition("=") for text in labels)}
    stored = app.client().put_pool(name, gpu=gpu, selector=selector, **settings)
    done(f"Pool {name} is there.", stored, json_)


@admin.command()
@click.option("--who", metavar="USER")
@click.option("--object", "object_", metavar="TEXT", help="As the log has it: 'run r1…', 'group vision'.")
@click.option("--action", metavar="TEXT", help="As the log has it: 'runs.stop', 'sessions.open'.")
@click.option("--limit", "-n", type=click.IntRange(1, 10_000), default=50, show_default=True)
@as_json
@click.pass_obj
def audit(
    app: App, who: str | None, object_: str | None, action: str | None, limit: int, json_: bool
) -> None:
    """Show changes and refused logins, newest first."""
    found = list(islice(app.client().audit(who=who, object=object_, action=action, most=limit), limit))
    if json_:
        print_json(found)
        return
    rows = [(f"{a.time:%Y-%m-%d %H:%M:%S}", a.who, a.action, a.object, a.outcome, a.address) for a in found]
    table(("TIME (UTC)", "WHO", "ACTION", "OBJECT", "OUTCOME", "ADDRESS"), rows)
