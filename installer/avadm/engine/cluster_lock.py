"""One run at a time per site, whoever starts it from wherever: a lock on the site's own nodes."""

from __future__ import annotations

import json
import shlex
import threading
from _thread import interrupt_main
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from avadm.engine.controller import dead, named, owner
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.runner.access import findings
from avadm.runner.fleet import Fleet

if TYPE_CHECKING:
    from avadm.site.load import SiteFile

FOLDER = "/var/lib/avadm"
HEARTBEAT_S = 20.0
TIMEOUT = 30.0  # seconds
WITHOUT_MONS = 3


@dataclass
class Seen:
    """What the lock's nodes said.

    Attributes:
        answers: node to ``done``, ``holder`` and ``serial`` (of the state that is kept there).
        silent: node to why it said nothing.
    """

    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)

    @property
    def holders(self) -> dict[str, dict[str, Any]]:
        """Token to holder, of the locks that stand."""
        found = [a["holder"] for a in self.answers.values() if a.get("holder")]
        return {str(h.get("token", "")): h for h in found}


class LockNodes:
    """The nodes that keep a site's lock: its monitors, or its first nodes where it has none.

    Args:
        site_file: the site.
        fleet: how to reach its nodes.
    """

    def __init__(self, site_file: SiteFile, fleet: Fleet) -> None:
        site = site_file.site
        self.site = site.name
        self.names = [n.name for n in site.with_role("mon") or site.nodes[:WITHOUT_MONS]]
        self.folder = f"{FOLDER}/{site.name}"
        self.fleet = fleet
        self._python = shlex.quote(site_file.profile.python)
        self._script = (files("avadm.engine") / "lock_probe.py").read_text()

    @property
    def majority(self) -> int:
        """How many nodes must hold a lock."""
        return len(self.names) // 2 + 1

    def do(
        self,
        verb: str,
        owner: Mapping[str, Any] | None = None,
        token: str = "",
        nodes: Sequence[str] | None = None,
    ) -> Seen:
        """Do one verb of lock_probe.py on all nodes at once, each in one round trip."""
        params = {"folder": self.folder, "verb": verb, "owner": owner, "token": token}
        stdin = f"PARAMS = {json.dumps(json.dumps(params))}\n{self._script}".encode()
        seen = Seen()

        def one(node: str) -> dict[str, Any] | str:
            result = self.fleet.run(node, f"{self._python} -", timeout=TIMEOUT, stdin=stdin)
            try:
                data = json.loads(result.stdout) if result.ok else None
            except ValueError:
                data = None
            if isinstance(data, dict):
                return data
            said = result.stderr.strip().splitlines()
            return result.error or (said[-1] if said else f"exit {result.rc}")

        chosen = self.names if nodes is None else nodes
        with ThreadPoolExecutor(max(1, len(chosen)), thread_name_prefix="lock") as pool:
            for node, said in zip(chosen, pool.map(one, chosen), strict=True):
                if isinstance(said, dict):
                    seen.answers[node] = said
                else:
                    seen.silent[node] = said
        return seen


def look(nodes: LockNodes) -> Seen:
    """Return what the nodes that keep a site's lock say, which changes nothing; AvadmError where none answers."""
    seen = nodes.do("show")
    if not seen.answers:
        blind = Finding(
            "plan-blind",
            "No node that keeps the site's lock and ledger can be asked.",
            ", ".join(nodes.names),
            "no answer",
            "one that answers",
            "Mend what follows, or plan by this controller's ledger alone with --offline.",
        )
        raise AvadmError([blind, *findings("reachability", seen.silent)])
    return seen


@contextmanager
def held(
    nodes: LockNodes,
    verb: str,
    tell: Callable[[str], None],
    *,
    break_lock: bool = False,
    lost: Callable[[], None] = interrupt_main,
) -> Iterator[Seen]:
    """Hold the site's lock on a majority of its nodes, with a heartbeat; released at the end.

    Args:
        nodes: the nodes that keep it.
        verb: what runs, for whoever is refused.
        tell: gets notes for people: whose lock was taken over or broken.
        break_lock: whether a lock of another run is removed, which is then told.
        lost: called (in another thread) when the lock is no longer ours; the default acts as ctrl-C.

    Yields:
        What the nodes said when it was taken.

    Raises:
        AvadmError: another run holds it, or too few nodes answer.
    """
    ours = owner(verb)
    try:
        seen = _take(nodes, ours, break_lock, tell)
    except BaseException:
        nodes.do("release", token=ours["token"])
        raise
    stop = threading.Event()
    beat = threading.Thread(
        target=_beat, args=(nodes, ours, stop, tell, lost), name="lock-heartbeat", daemon=True
    )
    beat.start()
    try:
        yield seen
    finally:
        stop.set()
        beat.join(timeout=TIMEOUT)
        nodes.do("release", token=ours["token"], nodes=list(seen.answers))


def _take(nodes: LockNodes, ours: dict[str, Any], break_lock: bool, tell: Callable[[str], None]) -> Seen:
    seen = nodes.do("take", ours)
    for token, holder in {t: h for t, h in seen.holders.items() if t != ours["token"]}.items():
        # A holder on a minority that is alive is a run that is just being refused, or one that lost its nodes.
        if dead(holder):
            tell(f"Took over the lock that a dead run of this controller left: {named(holder)}.")
        elif break_lock:
            tell(f"Broke the lock of {named(holder)}.")
        else:
            continue
        taken = [n for n, a in seen.answers.items() if (a.get("holder") or {}).get("token", "") == token]
        again = nodes.do("take", ours, token, taken)
        seen.answers.update(again.answers)
        seen.silent.update(again.silent)
    got = [n for n, a in seen.answers.items() if a["done"]]
    if len(got) < nodes.majority:
        raise AvadmError([_refusal(nodes, seen, got), *findings("reachability", seen.silent)])
    return seen


def _refusal(nodes: LockNodes, seen: Seen, got: Sequence[str]) -> Finding:
    others = [h for n, a in seen.answers.items() if n not in got and (h := a.get("holder"))]
    if others:
        return Finding(
            "cluster-locked",
            "Another run is at work on this site.",
            where=f"{nodes.folder}/lock on {', '.join(n for n in seen.answers if n not in got)}",
            found=named(others[0]),
            wanted="one run at a time, from whichever controller",
            remedy="Wait for it, or stop it where it runs. If it is surely dead (its machine is gone): the same command "
            "with --break-lock.",
        )
    answering = ", ".join(seen.answers) or "none"
    return Finding(
        "no-lock-majority",
        "Too few of the nodes that keep the site's lock answer.",
        where=", ".join(nodes.names),
        found=f"{len(seen.answers)} of {len(nodes.names)}: {answering}",
        wanted=f"{nodes.majority} or more, so that no other controller can hold it too",
        remedy="Mend what follows; `avadm preflight` says more.",
    )


def _beat(
    nodes: LockNodes,
    ours: dict[str, Any],
    stop: threading.Event,
    tell: Callable[[str], None],
    lost: Callable[[], None],
) -> None:
    while not stop.wait(HEARTBEAT_S):
        with suppress(OSError):
            seen = nodes.do("beat", token=ours["token"])
            gone = [n for n, a in seen.answers.items() if not a["done"]]
            # Silent nodes prove nothing: they may come back with our lock in place.
            if len(gone) > len(nodes.names) - nodes.majority:
                # A node that the breaker did not reach still names us.
                others = [h for n in gone if (h := seen.answers[n].get("holder"))]
                other = max(others, key=others.count, default=None)
                tell(
                    f"The lock of this run was broken by {named(other)}."
                    if other
                    else "The lock of this run is gone."
                )
                lost()
                return
