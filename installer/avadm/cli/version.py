"""`avadm version`, and `avadm --version`: the release and the commit."""

from __future__ import annotations

import platform

import click

from avadm import __version__
from avadm.cli.output import console, print_json


def sentence() -> str:
    """Return the version as one line: ``avadm 0.1.0 (commit 7f43646e…)``."""
    from avadm.commit import commit

    found = commit()
    return f"avadm {__version__} (commit {found})" if found else f"avadm {__version__}"


def show(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    """Print the version and end: the option --version."""
    if value and not ctx.resilient_parsing:
        click.echo(sentence())
        ctx.exit()


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def version(as_json: bool) -> None:
    """Show the version of avadm, the commit that it was built from, and that of Python."""
    from avadm.commit import commit

    if as_json:
        print_json({"version": __version__, "commit": commit() or None, "python": platform.python_version()})
        return
    console.print(sentence(), markup=False, highlight=False)
    console.print(f"Python {platform.python_version()}", markup=False, highlight=False)
