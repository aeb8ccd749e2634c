"""The command `ava`: common options, commands loaded on demand, and the end of every error."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from ava import __version__
from ava.cli.app import App

# Command to its help; its module in ava.cli.commands defines a command of its name.
RUN_COMMANDS = {
    "consent": "Agree that trainings are ended for maintenance.",
    "explain": "Explain why a run is waiting, does not start, or has ended.",
    "list": "List your runs.",
    "logs": "Show or follow the log of a run.",
    "run": "Start a training from an image and a command.",
    "show": "Show a run and its pods.",
    "stop": "Stop runs.",
    "submit": "Start a run from a file.",
}
NOUNS = {
    "account": "Your account: e-mail address and default group.",
    "audit": "The audit log (admin only).",
    "cluster": "Nodes, GPU models and free resources.",
    "data": "Data sets and their files.",
    "group": "Groups, their members and quotas.",
    "image": "Images of the site, and those you have pushed.",
    "key": "SSH keys for workbenches, deploy keys for git.",
    "pool": "Pools of nodes (admin only).",
    "queue": "Queues and the runs waiting in them.",
    "service": "Model services: address, replicas, revision.",
    "storage": "Usage and limits of homes, group folders and data sets.",
    "token": "Access tokens for programs.",
    "usage": "GPU, CPU and memory hours of a month.",
    "user": "User accounts (admin only).",
    "workbench": "Workbenches, and ssh access to them.",
}
SESSION_COMMANDS = {
    "completion": "Print a shell completion script.",
    "login": "Log in and save a token.",
    "logout": "Revoke the saved token.",
    "register": "Request an account.",
}
COMMANDS = RUN_COMMANDS | NOUNS | SESSION_COMMANDS
SECTIONS = (("Runs", RUN_COMMANDS), ("Objects (ava NOUN VERB)", NOUNS), ("Session", SESSION_COMMANDS))
COULD_NOT_RUN = 2


def first_sentence(text: str) -> str:
    """Return the first sentence of a help text, without its full stop."""
    return re.split(r"\.(?:\s|$)|\n\s*\n", text.strip(), maxsplit=1)[0].replace("\n", " ")


class Commands(click.Group):
    """Imports a command's module on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, None for an unknown one."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"ava.cli.commands.{cmd_name}")
        command = getattr(module, f"{cmd_name}_", None) or getattr(module, cmd_name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{cmd_name} is not a click command")
        for inner in command.commands.values() if isinstance(command, click.Group) else ():
            # As short help click takes the first sentence and cuts it to the line; a given one is wrapped.
            inner.short_help = inner.short_help or first_sentence(inner.help or "")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lists of commands without importing them."""
        width = max(map(len, COMMANDS))
        for title, commands in SECTIONS:
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in sorted(commands.items())])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, also under its former name; for an unknown name suggest a similar one."""
        from difflib import get_close_matches

        from ava.cli.former import current_arguments

        def verbs(noun: str) -> Collection[str]:
            group = self.get_command(ctx, noun)
            return group.commands if isinstance(group, click.Group) else ()

        args, warning = current_arguments(args, verbs)
        if warning:
            click.echo(warning, err=True)
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if near := get_close_matches(args[0], COMMANDS, n=1):
                raise click.UsageError(f"{error.message} Did you mean {near[0]!r}?", ctx) from error
            raise


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="ava")
@click.option(
    "--server",
    envvar="AVA_SERVER",
    metavar="URL",
    help="AVA server URL [env: AVA_SERVER; default: saved by `ava login`].",
)
@click.option(
    "--ca",
    envvar="AVA_CA",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="CA bundle to verify the server's certificate [env: AVA_CA].",
)
@click.option(
    "--token-file",
    envvar="AVA_TOKEN_FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File with an access token, for programs [env: AVA_TOKEN_FILE].",
)
@click.pass_context
def cli(ctx: click.Context, server: str | None, ca: Path | None, token_file: Path | None) -> None:
    """Run deep learning on AVA.

    \b
    ava --server https://ava.example.org login
    ava run --image ava-pytorch --cpu 4 --follow -- python train.py
    ava submit -f training.yml --wait
    Exit status:  0 success, 1 a run did not succeed, 2 the command failed
    """  # noqa: D301  click wants the character itself
    app = ctx.ensure_object(App)
    app.server, app.ca, app.token_file = server or app.server, ca.absolute() if ca else app.ca, token_file


def main() -> None:
    """Run the command line; errors are printed as messages, never as tracebacks."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        # What a terminal's encoding does not have is shown by its number. No text of anybody's ends a command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    code = run()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (`ava list | head`), which is no error; the interpreter must not try again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(argv: list[str] | None = None, app: App | None = None) -> int:
    """Run a command, print its errors, and return the exit status."""
    from ava.cli.output import note, print_problems
    from ava.domain.problems import ApiError, Problem

    try:
        code: Any = cli.main(argv, standalone_mode=False, obj=app)
    except ApiError as refused:
        print_problems(refused.problems)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
    except (click.Abort, KeyboardInterrupt):
        note("\nInterrupted. Runs already started on AVA continue; stop them with `ava stop`.")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        what = f"Unexpected error: {type(error).__name__}: {error}"
        print_problems(
            [
                Problem(
                    "unexpected",
                    what,
                    remedy="Run the command again; if the error persists, report this line.",
                )
            ]
        )
    else:
        return code if isinstance(code, int) else 0
    return COULD_NOT_RUN
