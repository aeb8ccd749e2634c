"""One run at a time per site, from any controller: a lock on the site's own nodes."""

from __future__ import annotations

import threading
from _thread import interrupt_main
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.remote.access import findings
from avadm.state.lock.controller import lock_controller
from avadm.state.lock.nodes import TIMEOUT, LockNodes, LockReplies, majority
from avadm.state.lock.owner import dead, named, owner

HEARTBEAT_S = 20.0


@contextmanager
def lock_site(
    nodes: LockNodes,
    folder: Path,
    verb: str,
    tell: Callable[[str], None],
    *,
    break_lock: bool = False,
    on_nodes: bool = True,
) -> Iterator[LockReplies]:
    """Hold the site's lock on this controller and on its nodes.

    Args:
        nodes: the nodes that keep it.
        folder: the site's state folder (site_state.state_folder).
        verb: what runs, for the message to a refused run.
        tell: gets notes for people.
        break_lock: whether a lock of another run is removed from the nodes.
        on_nodes: whether the nodes are locked too; a dry run changes nothing there.

    Yields:
        What the nodes reported when it was taken; nothing where they were not asked.

    Raises:
        AvadmError: another run holds it, or too few nodes answer.
    """
    with (
        lock_controller(folder, verb),
        lock_nodes(nodes, verb, tell, break_lock=break_lock)
        if on_nodes
        else nullcontext(LockReplies()) as seen,
    ):
        yield seen


@contextmanager
def lock_nodes(
    nodes: LockNodes,
    verb: str,
    tell: Callable[[str], None],
    *,
    break_lock: bool = False,
    lost: Callable[[], None] = interrupt_main,
) -> Iterator[LockReplies]:
    """Hold the site's lock on a majority of its nodes, with a heartbeat; released at the end.

    Args:
        nodes: the nodes that keep it.
        verb: what runs, for the message to a refused run.
        tell: gets notes for people: whose lock was taken over or broken.
        break_lock: whether a lock of another run is removed, which is then reported.
        lost: called (in another thread) when the lock is no longer ours; the default acts as ctrl-C.

    Yields:
        What the nodes reported when it was taken.

    Raises:
        AvadmError: another run holds it, or too few nodes answer.
    """
    ours, seen = owner(verb), LockReplies()
    try:
        _take(nodes, ours, break_lock, tell, seen)
    except BaseException:
        _give_back(nodes, ours["token"], seen)
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
        _give_back(nodes, ours["token"], seen)


def _give_back(nodes: LockNodes, token: str, seen: LockReplies) -> None:
    """Release the lock wherever it may lie: a node that was silent may have made it, or make it yet."""
    unsure = [n for n in nodes.names if n in seen.silent or n not in seen.answers]
    nodes.do("release", token=token, nodes=[n for n in nodes.names if n not in unsure])
    nodes.do("abandon", token=token, nodes=unsure)


def _take(
    nodes: LockNodes, ours: dict[str, Any], break_lock: bool, tell: Callable[[str], None], seen: LockReplies
) -> None:
    asked: Collection[str] = nodes.names
    while asked:
        seen.add(nodes.do("take", ours, nodes=asked))
        asked = nodes.learn(seen)
    for token, holder in {t: h for t, h in seen.holders.items() if t != ours["token"]}.items():
        # A holder on a minority that is alive is a run that is just being refused, or one that lost its nodes.
        if dead(holder):
            tell(f"Removed the stale lock of an interrupted run: {named(holder)}.")
        elif break_lock:
            tell(f"Broke the lock of {named(holder)}.")
        else:
            continue
        taken = [n for n, a in seen.answers.items() if (a.get("holder") or {}).get("token", "") == token]
        seen.add(nodes.do("take", ours, token, taken))
    got = [n for n, a in seen.answers.items() if a["done"]]
    if nodes.unknown and break_lock:
        tell(
            f"Did without {', '.join(nodes.unknown)}, which kept the lock once and left the site file since."
        )
        nodes.forget()
    if short := nodes.short_of(got):
        raise AvadmError([_refusal(nodes, seen, got, short[0]), *findings("reachability", seen.silent)])


def _refusal(nodes: LockNodes, seen: LockReplies, got: Sequence[str], group: Sequence[str]) -> Finding:
    others = [h for n, a in seen.answers.items() if n not in got and (h := a.get("holder"))]
    if others:
        return finding(
            "cluster-locked",
            where=f"{nodes.folder}/lock on {', '.join(n for n in seen.answers if n not in got)}",
            found=named(others[0]),
            wanted="one run at a time, from whichever controller",
        )
    answering = [n for n in group if n in seen.answers]
    left = [n for n in group if n in nodes.unknown]
    remedy = "Fix what follows; `avadm preflight` says more."
    if left:
        remedy = (
            f"{', '.join(left)} kept it when the state was last written and {'is' if len(left) == 1 else 'are'} "
            "not in this site file: use the newest site file, or, where they are surely gone, the same command with "
            "--break-lock."
        )
    return finding(
        "no-lock-majority",
        where=", ".join(group),
        found=f"{len(answering)} of {len(group)}: {', '.join(answering) or 'none'}",
        wanted=f"{majority(group)} or more, so that no other controller can hold it too",
        remedy=remedy,
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
            if any(sum(n in gone for n in g) > len(g) - majority(g) for g in nodes.groups):
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
