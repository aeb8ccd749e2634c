"""The command `avadm`: common options, verbs loaded on demand, and the end of every error."""

from __future__ import annotations

import os
import re
import signal
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from avadm import paths
from avadm.catalogue import finding
from avadm.cli.site_option import pointed, with_site
from avadm.cli.version import show
from avadm.errors import EXIT_COULD_NOT_RUN, AvadmError
from avadm.findings import Finding

if TYPE_CHECKING:
    from avadm.remote.fleet import Fleet
    from avadm.site.load import SiteFile

# Verb to its module in avadm.cli; a module defines a command of the verb's name. Loaded when asked for,
# since importing everything would cost each call half a second.
VERBS = {
    "accept": "Measure the cluster against its targets and write the report.",
    "apply": "Install, or bring up to date, what the site file describes.",
    "artifacts": "Build and check the programs that no package source has.",
    "ava": "The platform's administrators, users, groups, quotas and usage.",
    "bootstrap": "Pin host keys and install the controller's key on new nodes.",
    "cache": "Change which nodes are the masters of the cache.",
    "completion": "Print the shell's completion script.",
    "database": "Back up PostgreSQL, prove a backup, bring one back.",
    "disk": "List, approve, replace and erase the nodes' disks.",
    "doctor": "Find what is wrong with the running site, changing nothing.",
    "help": "Show the help of avadm or of a verb.",
    "kubectl": "Run kubectl of the site's release with the administrator's rights.",
    "lab": "A lab of container nodes on this machine.",
    "logs": "Search the logs of nodes and pods, or follow them.",
    "maintenance": "Take nodes out of service for a while and bring them back.",
    "node": "Add, remove, cordon, drain and uncordon nodes.",
    "operation": "Give up an operation that is half done.",
    "plan": "Show phases, nodes and order, changing nothing.",
    "power": "Stop the whole site, and start it again.",
    "preflight": "Check that the nodes are fit, changing nothing.",
    "runs": "List and show earlier runs.",
    "site": "Write, check, explain and show the site file.",
    "ssh": "Log in to a node, or run a command on it.",
    "status": "Show what is done, stale or failed.",
    "support": "Collect a redacted bundle for somebody who helps.",
    "upgrade": "Bring components to the versions of another profile.",
    "version": "Show the version and the commit.",
}
OPTIONAL = {"accept": "avadm_acceptance", "lab": "avadm_lab"}
"""Verb to its package, which a distribution of its own has (its name with a hyphen); a checkout has both."""


def available(verb: str) -> bool:
    """Return whether a verb's package is installed."""
    return verb not in OPTIONAL or find_spec(OPTIONAL[verb]) is not None


# Verb to what a user who stopped it should know.
STOPPED = {
    "accept": "What nodes were measuring ends there by itself. The same command measures from the start.",
    "apply": "What nodes had begun ends there by itself. The same command resumes where it stopped.",
    "artifacts": "What was being built is restarted by the same command; what is in the cache stays.",
    "ava": "Run the command again to continue. `avadm ava invite` makes a link that was not shown again.",
    "bootstrap": "The same command continues: what is done is left alone.",
    "cache": "The same command continues; until then apply refuses the cache, whose masters may stand still.",
    "database": "What a node had begun ends there by itself. A restore: the same command begins again; former data are kept.",
    "doctor": "It changes nothing. What nodes were asked ends there by itself.",
    "disk": "What a node had begun ends there by itself. The same command continues, and erases a half erased disk whole.",
    "maintenance": "What it had set was undone, or is by the next command. The same command continues; `end` gives up.",
    "node": "The same command continues. Nodes may have been left cordoned: `avadm node uncordon` gives up a drain.",
    "operation": "The same command continues. Until then other commands may still be refused.",
    "power": "The same command continues. `avadm power up` goes back at any time.",
    "preflight": "It changes nothing. What nodes were asked ends there by itself.",
    "support": "It changes nothing, and no bundle was written.",
    "upgrade": "What a node had begun ends there by itself. The same command continues; until then apply refuses the component.",
}


class Declined(Exception):
    """The user answered no, before anything was begun."""


def confirm() -> None:
    """Ask whether to continue, as the last thing before anything is changed.

    Raises:
        Declined: the answer is no.
    """
    if not click.confirm("Continue?", err=True):
        raise Declined


@dataclass
class App:
    """What every verb is handed.

    Attributes:
        site_path: the site file named by --site or AVADM_SITE, else None.
    """

    site_path: Path | None = None
    _loaded: SiteFile | None = None

    def choose(self, path: Path) -> None:
        """Use this site file; the option --site after a verb comes later than that before it."""
        self.site_path = path.absolute()
        self.__dict__.pop("resolved_site", None)
        paths.set_site_folder(self.site_path.parent)

    @cached_property
    def resolved_site(self) -> Path:
        """The site file to use: --site, AVADM_SITE, ./site.yml, or the default of `site use`."""
        if self.site_path is not None:
            return self.site_path
        if Path("site.yml").is_file():
            return Path("site.yml").absolute()
        pointer = paths.default_site_pointer()
        if pointer.is_file():
            return pointed(pointer)
        raise AvadmError.of(
            "no-site",
            where=f"--site, AVADM_SITE, {Path('site.yml').absolute()}, {pointer}",
            remedy="Name one with --site FILE, write one with `avadm site init`"
            + (", or start the lab with `avadm lab up`." if available("lab") else "."),
        )

    def site_file(self, *, draft: bool = False) -> SiteFile:
        """Return the loaded and checked site file, loaded once; AvadmError with every error of the pass.

        Args:
            draft: whether a file without the devices of its storage nodes is good enough for this verb.
        """
        from avadm.site.load import DRAFT, load

        if self._loaded is None:
            self._loaded = load(self.resolved_site, DRAFT if draft else ())
        return self._loaded

    def fleet(self) -> Fleet:
        """Return the ssh fan-out to the site's nodes; closed when the verb ends.

        Raises:
            AvadmError: the controller's key is of no use, so that no node would let it in.
        """
        from avadm.remote.keyfile import usable

        usable(self.site_file().ssh_key)
        return self.idle_fleet()

    def idle_fleet(self) -> Fleet:
        """Return the fan-out for a verb that can do without its nodes: a key that is of no use is their silence."""
        from avadm.remote.ssh import SshFleet

        fleet = SshFleet(self.site_file())
        click.get_current_context().call_on_close(fleet.close)
        return fleet


pass_app = click.make_pass_decorator(App, ensure=True)


class Verbs(click.Group):
    """A group that imports a verb's module when the verb is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs that are installed."""
        return sorted(filter(available, VERBS))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the verb, or None for an unknown one; AvadmError for one that is not installed."""
        if cmd_name not in VERBS:
            return None
        if not available(cmd_name):
            distribution = OPTIONAL[cmd_name].replace("_", "-")
            raise AvadmError.of(
                "verb-not-installed", where=sys.prefix, verb=cmd_name, distribution=distribution
            )
        module = f"{OPTIONAL[cmd_name]}.cli" if cmd_name in OPTIONAL else f"avadm.cli.{cmd_name}"
        command = getattr(import_module(module), cmd_name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{module}.{cmd_name} is not a click command")
        return with_site(command)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what avadm is for; without the lab where there is none."""
        if self.help and not available("lab"):
            self.help = re.sub(r" *A lab here:.*\n", "", self.help)
        super().format_help_text(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, VERBS[name]) for name in self.list_commands(ctx)])

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

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; say what is left of it where it is stopped."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort) as error:
            raise click.Abort(STOPPED.get(ctx.invoked_subcommand or "", "")) from error


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show,
    help="Show the version and exit.",
)
@click.option(
    "--site",
    "site_path",
    envvar="AVADM_SITE",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The site file, also after the verb [env: AVADM_SITE; default: ./site.yml, or the default of `site use`].",
)
@click.pass_context
def cli(ctx: click.Context, site_path: Path | None) -> None:
    """From a room of bare machines to a working, measured deep-learning cluster.

    \b
    A new site:   avadm site init > bootstrap > preflight > plan > apply > accept run
    A lab here:   avadm lab up > bootstrap > apply > accept run      (or: make demo)
    Exit status:  0 good, 1 found something bad, 2 could not run
    """  # noqa: D301  click wants the character itself
    ctx.obj = app = App()
    if site_path:
        app.choose(site_path)
    elif not paths.checkout():
        with suppress(AvadmError):
            paths.set_site_folder(app.resolved_site.parent)


def _unexpected(error: Exception) -> Finding:
    """Keep the traceback in a file, so that a user sees one sentence and we can be sent the rest."""
    folder = paths.cache() / "crashes"
    path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{os.getpid()}.txt"
    remedy = "Run it again; if it stays, report it with that file."
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    except OSError as unwritable:
        path = folder
        remedy = (
            f"Nothing could be kept there ({unwritable.strerror}): free space or permission, or name another "
            "folder with AVADM_CACHE; run it again and report it with the file that is then made."
        )
    return finding("unexpected", where=str(path), name=type(error).__name__, error=error, remedy=remedy)


def main() -> None:
    """Run the command line; every error ends here as a sentence, never as a traceback."""
    from avadm.cli import streams
    from avadm.cli.output import print_findings

    # A SIGTERM (a closing session, a time limit) takes the same way out as ctrl-C: children are ended.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # So does a closed terminal, unless someone asked to live on (nohup).
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, signal.default_int_handler)
    stdout = streams.guard()
    code = _run()
    sys.stdout.flush()
    if stdout is not None and stdout.trouble is not None:
        why = str(stdout.trouble.strerror)
        print_findings([finding("standard-output", found=why)])
        code = EXIT_COULD_NOT_RUN
    sys.exit(code)


def _run() -> int:
    """Run the verb, print how it ended, and return the exit status."""
    from avadm.cli.output import print_findings, stderr

    try:
        code = cli.main(standalone_mode=False)
    except AvadmError as error:
        print_findings(error.findings)
        return error.exit_code
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
    except Declined:
        stderr.print("Nothing was begun.")
    except (click.Abort, KeyboardInterrupt) as error:
        stderr.print("\n" + " ".join(["Interrupted.", *filter(None, error.args)]))
    except Exception as error:
        print_findings([_unexpected(error)])
    else:
        return code if isinstance(code, int) else 0
    return EXIT_COULD_NOT_RUN
