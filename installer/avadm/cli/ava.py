"""`avadm ava`: what only the site's administrator does to the platform."""

from __future__ import annotations

import sys

import click
from rich.text import Text

from avadm.catalogue import finding
from avadm.cli.ava_people import ALL as people
from avadm.cli.ava_people import invite
from avadm.cli.ava_usage import usage
from avadm.cli.main import App, pass_app
from avadm.cli.output import console, print_json
from avadm.errors import EXIT_COULD_NOT_RUN, EXIT_FOUND_BAD, EXIT_GOOD, AvadmError

OUTCOMES = {"made": "is an administrator now", "changed": "was changed", "unchanged": "is one already"}
LONGEST = 1024
"""Characters of a password."""


@click.group()
def ava() -> None:
    """The platform's administrators, users, groups, quotas and usage."""


for command in (*people, invite, usage):
    ava.add_command(command)


@ava.command("create-admin")
@click.argument("name")
@click.option(
    "--email", metavar="ADDRESS", help="Where mail for them goes; NAME@localhost where it is not given."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_app
def create_admin(app: App, name: str, email: str | None, as_json: bool) -> int:
    """Create a platform administrator, or grant a user these rights and this password.

    The password is asked for, or read from the first line of standard input where that is no terminal. A second time with the
    same password changes nothing. It goes by standard input all the way: no command line, file or log has it.
    """
    from avadm.kube.ava_admin import make_admin
    from avadm.platform_users.connect import no_platform

    site = app.site_file().site
    if site.components.ava is None:
        raise AvadmError(no_platform(str(app.resolved_site)))
    password = _password(name)
    done = make_admin(app.fleet(), site, name, password, email)
    text = done.stdout.strip()
    if done.rc == 0 and text in OUTCOMES:
        if as_json:
            print_json({"site": site.name, "name": name, "did": text})
        else:
            console.print(Text(f"{name} {OUTCOMES[text]}."))
        return EXIT_GOOD
    lines = [line for line in done.stderr.splitlines() if not line.startswith("command terminated with")]
    message = "\n".join(lines).replace(password, "…") or text or f"exit status {done.rc}"
    raise AvadmError(
        finding(
            "create-admin",
            where=done.node,
            found=message,
            name=name,
            remedy="Put that right and run it again."
            if done.rc == EXIT_FOUND_BAD or "Wanted" in message
            else "See `avadm doctor --only ava,database`, then run it again.",
        ),
        exit_code=EXIT_FOUND_BAD if done.rc == EXIT_FOUND_BAD else EXIT_COULD_NOT_RUN,
    )


def _password(name: str) -> str:
    """Return the password: asked for twice, or the first line of standard input."""
    if sys.stdin.isatty():
        return str(click.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True, err=True))
    password = sys.stdin.readline(LONGEST + 2).rstrip("\r\n")
    if password:
        return password
    raise AvadmError.of(
        "password-missing",
        where="standard input",
        found="nothing in its first line",
        wanted="the password, one line",
    )
