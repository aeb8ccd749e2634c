"""`avadm artifacts`: programs that no package source has, built once, and kept with checksums."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click
from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from avadm.artifacts.manifest import Artifact, every, named
from avadm.artifacts.requirements import needed
from avadm.artifacts.store import ArtifactState, ArtifactStore, as_json
from avadm.catalogue import finding
from avadm.cli.main import App, pass_app
from avadm.cli.options import Renamed
from avadm.cli.output import as_dicts, console, print_findings, print_json, stderr, visible
from avadm.cli.progress import HEARTBEAT_S, REFRESH_HZ, duration
from avadm.cli.tables import print_table
from avadm.errors import EXIT_COULD_NOT_RUN, EXIT_FOUND_BAD, EXIT_GOOD, AvadmError
from avadm.findings import Finding
from avadm.site import internet
from avadm.site.load import target_profile

if TYPE_CHECKING:
    from avadm.artifacts.provide import Source

_STYLE = {
    ArtifactState.PRESENT: "green",
    ArtifactState.STALE: "yellow",
    ArtifactState.DAMAGED: "bold red",
    ArtifactState.ABSENT: "dim",
}
_UNPATCHED = finding("artifact-unpatched", where="avadm artifacts fetch")
_names = click.argument("names", nargs=-1, metavar="[NAME]...")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, progress on stderr.")
_jobs = click.option(
    "--jobs", type=click.IntRange(1, 16), default=2, show_default=True, help="Artifacts to build at once."
)
_to = click.option(
    "--to",
    metavar="PROFILE",
    help="Also what the site needs after `avadm upgrade --to PROFILE`, a name or the path of a file.",
)
_again = click.option(
    "--force", "again", cls=Renamed, former=["--again"], is_flag=True, help="Also those that are cached."
)


@click.group()
def artifacts() -> None:
    """Build and check the programs that no package source provides.

    Without NAME a command handles all artifacts that the site's roles need.
    """


@artifacts.command()
@_names
@_to
@_jobs
@_again
@_json
@pass_app
def build(app: App, names: tuple[str, ...], to: str | None, jobs: int, again: bool, as_json: bool) -> int:
    """Build artifacts from published source, pinned and checked, where the cache has them not.

    Of an artifact with several versions the site's profile chooses one; NAME=VERSION is another one.

    A build needs Go 1.21 or newer, and downloads from the Go module proxy, PyPI, npm, Maven and Debian: through the HTTP
    proxy of the environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), or packages.internet_proxy of the site file.
    Running it again does what is left to do.
    """
    return _make(app, "build", names, jobs, again, {}, as_json, to)


@artifacts.command()
@_names
@click.option(
    "--sha256",
    "checksums",
    multiple=True,
    metavar="URL=CHECKSUM",
    help="The publisher's checksum of what an address has, where avadm does not know it; may be given more than once.",
)
@click.option(
    "--unpatched",
    is_flag=True,
    help="Required: accept programs without the security patches of docs/reference/generated/risks.md.",
)
@_jobs
@_again
@_json
@pass_app
def fetch(
    app: App,
    names: tuple[str, ...],
    checksums: tuple[str, ...],
    unpatched: bool,
    jobs: int,
    again: bool,
    as_json: bool,
) -> int:
    """For experts: take upstream's own programs, which have none of our security patches; use `build` instead.

    Nothing is taken without a checksum, and several artifacts are not published upstream at all.
    """
    known = dict(_checksum(text) for text in checksums)
    if not unpatched:
        raise AvadmError.of(
            "artifact-unpatched-upstream",
            where="avadm artifacts fetch",
            found="no --unpatched",
            wanted="`avadm artifacts build`, or --unpatched",
        )
    print_findings([_UNPATCHED])
    return _make(app, "upstream", names, jobs, again, known, as_json)


@artifacts.command("list")
@_names
@_json
@pass_app
def list_(app: App, names: tuple[str, ...], as_json: bool) -> int:
    """List artifacts with what the cache has of each; without NAME all, also those that the site does not need."""
    store = ArtifactStore.default()
    wanted = _needed_if_known(app)
    rows = [_row(a, store, wanted) for a in (_chosen(app, names) if names else every())]
    if as_json:
        print_json({"folder": str(store.root), "artifacts": rows})
        return EXIT_GOOD
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("artifact", "version", "state", "source", "size", "needed"):
        table.add_column(name, justify="right" if name == "size" else "left", no_wrap=True)
    for row in rows:
        has = row["cache"]
        size = f"{sum(f['size'] for f in has['files'].values()) / 1e6:.1f} MB" if has else ""
        needs = {True: "yes", False: "no", None: "?"}[row["needed"]]
        state = Text(row["state"], style=_STYLE[ArtifactState(row["state"])])
        table.add_row(row["name"], row["version"], state, has.get("source", ""), size, needs)
    print_table(table, whole=("artifact", "version", "state", "needed"))
    return EXIT_GOOD


@artifacts.command()
@_names
@_json
@pass_app
def verify(app: App, names: tuple[str, ...], as_json: bool) -> int:
    """Read every byte of artifacts in the cache and compare with the checksums; exit status 1 where one differs.

    What links to a newer C library than the oldest system of the profiles has is reported too.
    """
    from avadm.artifacts import glibc_check

    store = ArtifactStore.default()
    findings = []
    rows = []
    for artifact in _chosen(app, names):
        state = store.state(artifact, deep=True)
        rows.append({"name": artifact.name, "version": artifact.version, "state": state})
        if state is ArtifactState.ABSENT:
            findings.append(_wrong(artifact, store, "is not in the cache", "", ""))
        for name, why in store.damage(artifact).items() if state is ArtifactState.DAMAGED else ():
            findings.append(_wrong(artifact, store, "is damaged", f"{name}: {why}", "as it was made"))
        if state in (ArtifactState.PRESENT, ArtifactState.STALE):
            findings += glibc_check.too_new(artifact.name, store.folder(artifact))
    if as_json:
        print_json({"artifacts": rows, "findings": as_dicts(findings)})
    else:
        print_findings(findings)
        well = [r["name"] for r in rows if r["state"] in (ArtifactState.PRESENT, ArtifactState.STALE)]
        console.print(
            Text(f"✓ {', '.join(well)}", style="green") if well else "Nothing is whole in the cache."
        )
    return EXIT_FOUND_BAD if findings else EXIT_GOOD


def _make(
    app: App,
    source: Source,
    names: tuple[str, ...],
    jobs: int,
    again: bool,
    checksums: dict[str, str],
    as_json: bool,
    to: str | None = None,
) -> int:
    from avadm.artifacts import proxy
    from avadm.artifacts.commands import LocalCommands
    from avadm.artifacts.provide import ArtifactProvider

    chosen = _chosen(app, names, to)
    store = ArtifactStore.default()
    with display([a.label for a in chosen], stderr if as_json else console) as shown:
        maker = ArtifactProvider(
            store,
            source,
            shown,
            LocalCommands(),
            checksums=checksums,
            again=again,
            environment=proxy.environment(os.environ, _proxy(app)),
        )
        made, findings = maker.make(chosen, jobs)
    if as_json:
        rows = [_row(a, store, None) for a in chosen]
        print_json({"made": [r.name for r in made], "artifacts": rows, "findings": as_dicts(findings)})
    else:
        print_findings(findings)
        for record in made:
            text = "; ".join(dict.fromkeys(k.reported for k in record.files.values() if k.reported))
            console.print(Text(f"✓ {record.name} {record.version} in {duration(record.seconds)}: {text}"))
        if not made and not findings:
            console.print(
                "Nothing to do: the cache has it all." if chosen else "This site needs no artifacts."
            )
    return EXIT_COULD_NOT_RUN if findings else EXIT_GOOD


def _chosen(app: App, names: tuple[str, ...], to: str | None = None) -> list[Artifact]:
    """Return the artifacts of these names, or else all that the site needs, in the versions that its profile chooses.

    Args:
        app: names the site file, without which NAME is the first version.
        names: of artifacts.
        to: the profile to which an upgrade is planned: its versions are returned too.
    """
    if names and to is None:
        return named(names, _versions(app))
    site_file = app.site_file(draft=True)
    profiles = [site_file.profile, *([target_profile(site_file.path, to)] if to is not None else [])]
    found = [
        artifact
        for one in profiles
        for artifact in (
            named(names, one.versions) if names else needed(site_file.site, versions=one.versions)
        )
    ]
    return [artifact for i, artifact in enumerate(found) if artifact not in found[:i]]


def _versions(app: App) -> dict[str, str]:
    """Return the versions of the site's profile; none where there is no good site file, without which NAME can be built."""
    try:
        return app.site_file(draft=True).profile.versions
    except AvadmError:
        return {}


def _needed_if_known(app: App) -> set[str] | None:
    """Return the labels of what the site needs, None where there is no good site file: listing works without."""
    try:
        site_file = app.site_file(draft=True)
        return {a.label for a in needed(site_file.site, versions=site_file.profile.versions)}
    except AvadmError:
        return None


def _proxy(app: App) -> dict[str, str]:
    """Return the variables of the site's proxy; none where there is no good site file, without which NAME can be built."""
    try:
        site_file = app.site_file(draft=True)
    except AvadmError:
        return {}
    return internet.environment(site_file.site, site_file.profile)


def _row(artifact: Artifact, store: ArtifactStore, wanted: set[str] | None) -> dict[str, Any]:
    return {
        "name": artifact.name,
        "title": artifact.title,
        "version": artifact.version,
        "state": str(store.state(artifact)),
        "needed": None if wanted is None else artifact.label in wanted,
        "folder": str(store.folder(artifact)),
        "cache": as_json(store.record(artifact)),
    }


def _checksum(text: str) -> tuple[str, str]:
    url, _, checksum = text.rpartition("=")
    if not url or len(checksum) != 64 or set(checksum.lower()) - set("0123456789abcdef"):
        raise click.BadParameter(f"{text!r}: expected URL=CHECKSUM, 64 hex digits.", param_hint="--sha256")
    return url, checksum


def _wrong(artifact: Artifact, store: ArtifactStore, what: str, found: str, wanted: str) -> Finding:
    where = str(store.folder(artifact))
    return finding(
        "artifact-integrity", where=where, found=found, wanted=wanted, name=artifact.name, what=what
    )


OVER = ("done", "there already", "failed")


@dataclass
class _Line:
    text: str = "waiting for its turn"
    begun: float | None = None
    ended: float | None = None


class Plain:
    """Lines for logs and pipes: each new step, and a long one again every half minute."""

    def __init__(
        self, names: Sequence[str], console: Console, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._clock = clock
        self._lock = threading.Lock()
        self._lines = {name: _Line() for name in names}
        self._told: dict[str, tuple[str, float]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to put right."""

    def __call__(self, name: str, text: str) -> None:
        """Take what is done with an artifact now: ``STEP`` or ``STEP: what its program says``."""
        now = self._clock()
        with self._lock:
            # One that was not asked for may be needed by another.
            line = self._lines.setdefault(name, _Line())
            line.text, line.begun = text, line.begun if line.begun is not None else now
            if text.partition(": ")[0] in OVER:
                line.ended = now
            self._show(name, line, now)

    def _show(self, name: str, line: _Line, now: float) -> None:
        step = line.text.partition(": ")[0]
        report, when = self._told.get(name, ("", 0.0))
        if step == report and now - when < HEARTBEAT_S:
            return
        self._told[name] = (step, now)
        stamp = time.strftime("%H:%M:%S")
        text = line.text if step == report else step
        self._console.print(Text(f"{stamp} {name:<18} {visible(text)[:150]}"))


class LiveLines(Plain):
    """One line per artifact, redrawn."""

    def __enter__(self) -> Self:
        self._live = Live(console=self._console, refresh_per_second=REFRESH_HZ, get_renderable=self.render)
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def render(self) -> RenderableType:
        """Return all lines as they are now."""
        now = self._clock()
        table = Table.grid(padding=(0, 1))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, justify="right")
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        with self._lock:
            for name, line in self._lines.items():
                took = "" if line.begun is None else duration((line.ended or now) - line.begun)
                style = (
                    "red"
                    if line.text.startswith("failed")
                    else "green"
                    if line.ended
                    else "cyan"
                    if line.begun is not None
                    else "dim"
                )
                table.add_row(Text(name, style=style), Text(took), Text(visible(line.text)))
        return table

    def _show(self, name: str, line: _Line, now: float) -> None:
        """Nothing to print: the lines are redrawn."""


def display(names: Sequence[str], console: Console) -> Plain:
    """Return the display that fits the console."""
    return (LiveLines if console.is_terminal else Plain)(names, console)
