"""Former names of options: they work, with a warning, and are not in the help."""

import click
import pytest
from click.testing import CliRunner

from ava.cli.app import Renamed as AvaRenamed
from avadm.cli.options import Renamed


@pytest.mark.parametrize("cls", [Renamed, AvaRenamed])
def test_a_former_name_works_with_a_warning(cls):
    @click.command()
    @click.option("--tail", "-t", "limit", cls=cls, former=["--limit"], type=int, default=3)
    @click.option("--force", cls=cls, former=["--full", "--all"], is_flag=True)
    def command(limit, force):
        click.echo(f"{limit} {force}")

    def run(*argv):
        done = CliRunner().invoke(command, argv)
        assert done.exit_code == 0, done.output
        return done.stdout, done.stderr

    assert run("--tail", "5", "--force") == ("5 True\n", "")
    assert run("-t", "5") == ("5 False\n", "")
    out, err = run("--limit=5", "--full")
    assert out == "5 True\n"
    assert err.splitlines() == [
        "`--limit` is now `--tail`; the former name is removed in release 0.3.",
        "`--full` is now `--force`; the former name is removed in release 0.3.",
    ]
    assert run("--all")[0] == "3 True\n"
    help_text, _ = run("--help")
    assert "--tail" in help_text
    assert not any(name in help_text for name in ("--limit", "--full", "--all"))
