"""The command `ava`: common options, verbs loaded on demand, and the end of every error."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from ava import __version__
from ava.cli.app import App

# Verb to what it does; its module in ava.cli defines a command of its name.
VERBS = {
    "account": "Show your account; choose the group that is charged; confirm your e-mail address.",
    "admin": "What administrators do: users, groups, queues, pools, audit log.",
    "cluster": "Show nodes, GPU models and what is free now.",
    "completion": "Print the shell's completion script.",
    "data": "Keep data sets and files in them; show what homes and groups' folders hold.",
    "groups": "Show your groups, what they may have and what they have.",
    "images": "Show the images that the site offers, and those that you have pushed.",
    "keys": "Store ssh keys for workbenches and deploy keys for git.",
    "list": "List your runs.",
    "login": "Log in and remember a token.",
    "logout": "End the token and forget it.",
    "logs": "Show a run's log, or follow it.",
    "queue": "Show queues and what waits in them.",
    "register": "Ask for an account.",
    "run": "Start a training of one image and one command.",
    "scale": "Set how many replicas a service has.",
    "service": "Show a service: its address, replicas and revision.",
    "show": "Show a run and its pods.",
    "stop": "Stop runs.",
    "submit": "Start what a file describes.",
    "tokens": "Make and end tokens for programs.",
    "usage": "Show what was used in a month.",
    "why": "Say why a run waits, does not start or has ended.",
    "workbench": "Make, run and stop workbenches; configure ssh for them.",
}
COULD_NOT_RUN = 2


def first_sentence(text: str) -> str:
    """Return the first sentence of a help text, without its full stop."""
    return re.split(r"\.(?:\s|$)|\n\s*\n", text.strip(), maxsplit=1)[0].replace("\n", " ")


class Verbs(click.Group):
    """Imports a verb's module when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs."""
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the verb, None for an unknown one."""
        if cmd_name not in VERBS:
            return None
        module = import_module(f"ava.cli.verbs.{cmd_name}")
        command = getattr(module, f"{cmd_name}_", None) or getattr(module, cmd_name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{cmd_name} is not a click command")
        for inner in command.commands.values() if isinstance(command, click.Group) else ():
            # As short help click takes the first sentence and cuts it to the line; a given one is wrapped.
            inner.short_help = inner.short_help or first_sentence(inner.help or "")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl(sorted(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb; say which one is near where there is none of that name."""
        from difflib import get_close_matches

        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if near := get_close_matches(args[0], VERBS, n=1):
                raise click.UsageError(f"{error.message} Did you mean {near[0]!r}?", ctx) from error
            raise


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="ava")
@click.option(
    "--server", envvar="AVA_SERVER", metavar="URL", help="Which AVA [env: AVA_SERVER; default: as at login]."
)
@click.option(
    "--ca",
    envvar="AVA_CA",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Certificates of the authority that the server's certificate is of [env: AVA_CA].",
)
@click.option(
    "--token-file",
    envvar="AVA_TOKEN_FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File that holds a token, for programs [env: AVA_TOKEN_FILE].",
)
@click.pass_context
def cli(ctx: click.Context, server: str | None, ca: Path | None, token_file: Path | None) -> None:
    """Run deep learning on AVA.

    \b
    ava --server https://ava.example.org login
    ava run --image ava-pytorch --cpu 4 --follow -- python train.py
    ava submit -f training.yml --wait
    Exit status:  0 good, 1 a run has not succeeded, 2 could not be done
    """  # noqa: D301  click wants the character itself
    app = ctx.ensure_object(App)
    app.server, app.ca, app.token_file = server or app.server, ca.absolute() if ca else app.ca, token_file


def main() -> None:
    """Run the command line; every error ends here as a sentence, never as a traceback."""
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
    """Run a verb, print how it ended, and return the exit status."""
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
        note("\nStopped by you. What was started on AVA continues; `ava stop` ends it.")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        what = f"ava met something it did not expect: {type(error).__name__}: {error}"
        print_problems(
            [Problem("unexpected", what, remedy="Run it again; if it stays, report it with this line.")]
        )
    else:
        return code if isinstance(code, int) else 0
    return COULD_NOT_RUN
