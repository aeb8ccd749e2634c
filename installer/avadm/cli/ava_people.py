"""`avadm ava apply`, `users`, `groups`, `quotas`, `invite`: what the platform has of people, from one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from avadm.cli.main import App, pass_app
from avadm.cli.options import dry_run
from avadm.cli.output import as_dicts, console, print_findings, print_json, stderr
from avadm.errors import EXIT_COULD_NOT_RUN, EXIT_FOUND_BAD, EXIT_GOOD, AvadmError

if TYPE_CHECKING:
    from avadm.platform_users.apply import Link
    from avadm.platform_users.diff import Change
    from avadm.platform_users.prune import Extra

as_whom = click.option(
    "--as", "whom", metavar="NAME", help="The administrator in whose name; needed where there are several."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _file_options(command: Any) -> Any:
    for add in (
        as_json,
        as_whom,
        click.option(
            "--prune",
            multiple=True,
            metavar="WHAT",
            help="Take away what the platform has and the file has not: user:NAME (disabled), group:NAME, "
            "member:GROUP/USER, key:USER/NAME; * in a name; may be repeated.",
        ),
        dry_run("Show the difference; change nothing."),
        click.argument("file", type=click.Path(path_type=Path)),
    ):
        command = add(command)
    return command


def _verb(name: str, parts: tuple[str, ...], text: str) -> click.Command:
    def run(
        app: App, /, file: Path, check: bool, prune: tuple[str, ...], whom: str | None, as_json: bool
    ) -> int:
        return _apply(app, parts, file, check, prune, whom, as_json)

    run.__doc__ = text
    return click.command(name)(_file_options(pass_app(run)))


def _apply(
    app: App,
    parts: tuple[str, ...],
    path: Path,
    check: bool,
    prune: tuple[str, ...],
    whom: str | None,
    as_json: bool,
) -> int:
    from avadm.components.ava.component import host
    from avadm.platform_users import apply as doing
    from avadm.platform_users import connect, current, load
    from avadm.platform_users import diff as finding
    from avadm.platform_users import prune as pruning

    file = load.load(path)
    site = app.site_file()
    with connect.administrator(site, app.fleet(), whom) as way:
        named = frozenset(n.partition(":")[2].partition("/")[0] for n in prune if "/" in n)
        there = current.read(way.ava, file.people, named)
        if unknown := finding.unknown(file, there, parts):
            raise AvadmError(unknown, EXIT_COULD_NOT_RUN)
        extra = pruning.extras(file, there, way.name)
        wanted = finding.changes(file, there, parts) + pruning.chosen(extra, prune)
        taken = {c.where for c in wanted}
        left = [e for e in extra if e.name.startswith(("member:", "key:")) and e.option not in taken]
        if check:
            return _checked(wanted, left, as_json)
        tell = (lambda change: None) if as_json else _tell
        hand = (lambda link: None) if as_json else _hand
        done = doing.apply(way.ava, host(site.site), wanted, tell, hand)
    if as_json:
        print_json(
            {
                "changes": [_row(c) for c in done.changes],
                "links": [asdict(one) for one in done.links],
                "left": [e.name for e in left],
                "findings": as_dicts(done.findings),
            }
        )
    else:
        if not wanted:
            console.print("Nothing to change.")
        _left(left)
        print_findings(done.findings)
    return EXIT_FOUND_BAD if done.findings else EXIT_GOOD


def _checked(wanted: Sequence[Change], left: Sequence[Extra], as_json: bool) -> int:
    if as_json:
        print_json({"wanted": [_row(c) for c in wanted], "left": [e.name for e in left]})
        return EXIT_GOOD
    for change in wanted:
        console.print(Text(f"would {change.about}: {change.what}  ({change.where})"))
    count = len(wanted)
    console.print(
        f"{count} change{'' if count == 1 else 's'}, none made." if wanted else "Nothing to change."
    )
    _left(left)
    return EXIT_GOOD


def _row(change: Change) -> dict[str, str]:
    return {"object": change.about, "what": change.what, "where": change.where}


def _tell(change: Change) -> None:
    console.print(Text(f"{change.about}: {change.what}"))


def _hand(link: Link) -> None:
    console.print(Text(f"  {link.user} chooses a password here, once, until {link.until}:\n  {link.url}"))


def _left(extra: Sequence[Extra]) -> None:
    """List objects that are not in the file and are kept."""
    for one in extra[:20]:
        stderr.print(Text(f"· left alone: {one.about}, {one.what.rpartition(':')[0]}  (--prune {one.name})"))
    if len(extra) > 20:
        stderr.print(f"· and {len(extra) - 20} more")


ALL = [
    _verb(
        "apply",
        ("users", "groups", "quotas"),
        "Apply users, groups and quotas from FILE (idempotent).\n\n"
        "No user is removed without --prune. New users get a link by which they choose a password, once.",
    ),
    _verb(
        "users",
        ("users",),
        "Bring users to what FILE says: address, administrator or not, state, ssh keys.\n\nSee `avadm ava apply`.",
    ),
    _verb(
        "groups",
        ("groups",),
        "Bring groups, their members and users' default groups to what FILE says.\n\nSee `avadm ava apply`.",
    ),
    _verb(
        "quotas", ("quotas",), "Bring quotas of groups and homes to what FILE says.\n\nSee `avadm ava apply`."
    ),
]


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@as_whom
@as_json
@pass_app
def invite(app: App, names: tuple[str, ...], whom: str | None, as_json: bool) -> int:
    """Make links by which users choose a password, once; a password that is chosen so makes former links void."""
    from avadm.components.ava.component import host
    from avadm.platform_users import apply as doing
    from avadm.platform_users import connect

    site = app.site_file()
    links = []
    with connect.administrator(site, app.fleet(), whom) as way:
        for name in names:
            links.append(doing.link(way.ava, host(site.site), name))
            if not as_json:
                _hand(links[-1])
    if as_json:
        print_json([asdict(one) for one in links])
    return EXIT_GOOD
