"""Interruptions of a verb: kill -9 at a step or at a moment, power-off of a node, the controller cut off from the nodes."""

import contextlib
import os
import random
import shlex
import signal
import subprocess
import time
from dataclasses import dataclass

from avadm_lab import folder
from avadm_lab.docker import network
from tests.lab.faults.drive import avadm, reachable, start
from tests.lab.waiting import until

CUT_S = 60
VERB_S = 3600
"""Time in which a verb that was interrupted ends, seconds."""
SLACK_S = 30
"""So much later than asked for the rule is removed where the test itself was killed, seconds."""


@dataclass(frozen=True)
class Killed:
    """A verb that was killed: whether it still ran, and what it had printed by then."""

    alive: bool
    output: str


def reach(running, at):
    """Read what a verb prints until a step begins; return what was read, which ends early where the verb does.

    Args:
        running: the verb, from `start`.
        at: number of the step, or words of its line of progress.
    """
    wanted = f"[{at}/" if isinstance(at, int) else at
    seen = []
    for line in running.stdout:
        seen.append(line)
        # Numbers are at the start of a line of progress alone.
        if line.startswith(wanted) if isinstance(at, int) else line.startswith("[") and wanted in line:
            break
    return "".join(seen)


def killed(words, at):
    """Start a verb and kill it (SIGKILL) when a step begins, or after some seconds.

    Args:
        words: its arguments.
        at: number of a step, words of its line of progress, or seconds (a float).
    """
    running = start(*words)
    seen = ""
    if isinstance(at, float):
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(at)
    else:
        seen = reach(running, at)
    alive = running.poll() is None
    running.kill()
    return Killed(alive, seen + running.communicate()[0])


def killed_at_each_step(words, before=lambda: None, first=1, last=""):
    """Kill a verb when its first step begins, the same command at its second step, and so on; return how often.

    A command that continues may have fewer steps than the first: it comes to its end where it has none of that number.

    Args:
        words: its arguments.
        before: called before each.
        first: number of the step to begin with.
        last: words of the line of progress of the step to end with; "" for the last one.
    """
    at = first
    before()
    while f"[{at}/" in (seen := killed(words, at).output):
        at += 1
        before()
        if last and any(line.startswith("[") and last in line for line in seen.splitlines()):
            break
    return at - first


def moments(whole_s, count=3):
    """Return moments within the length of a verb at which it is killed, and print the seed; AVADM_SEED repeats them.

    Args:
        whole_s: how long the verb takes without an interruption, seconds.
        count: how many.
    """
    seed = int(os.environ.get("AVADM_SEED") or random.SystemRandom().randrange(10**6))
    print(f"moments of the kills: AVADM_SEED={seed} repeats them")
    dice = random.Random(seed)  # noqa: S311 - no key is made from it
    return [dice.uniform(0.1, max(whole_s, 0.2)) for _ in range(count)]


@contextlib.contextmanager
def powered_off(lab, node, *, shut_down=False):
    """Keep a node without power; it takes commands again at the end, however the block ends.

    Args:
        lab: the lab.
        node: the node's name.
        shut_down: whether its operating system stops its services first, as in a maintenance.
    """
    try:
        if shut_down:
            lab.run(node, "systemctl --no-block poweroff")
            until(lambda: lab.run(node, "true", timeout=20).returncode, 180)
        off = avadm("lab", "power", node, "off")
        assert off.returncode == 0, off.stderr
        yield
    finally:
        on = avadm("lab", "power", node, "on")
        assert on.returncode == 0, on.stderr
        reachable(lab, node)


def _rule(lab):
    """Return the rule of the packet filter that cuts this machine off from the nodes of its lab."""
    config = folder.default().config()
    assert config is not None, "this checkout has no lab"
    addresses = ",".join(sorted(str(node["address"]) for node in lab.nodes))
    comment = f"avadm-cut-{os.getpid()}"
    return [
        *("OUTPUT", "-o", network.name(config), "-d", addresses),
        *("-m", "comment", "--comment", comment, "-j", "DROP"),
    ]


@contextlib.contextmanager
def cut_off(lab, seconds=CUT_S):
    """Drop what this machine sends to the nodes' own addresses while the block lasts, which is at most so many seconds.

    Virtual addresses stay reachable, so that loads which run on this machine are not cut off with avadm; clients on nodes
    note the nodes' time, and what they report arrives afterwards. The rule is on the lab's bridge alone. A process of its
    own removes it where this one is killed.
    """
    rule = _rule(lab)
    undo = f"while iptables -w -D {shlex.join(rule)} 2>/dev/null; do :; done"
    guard = subprocess.Popen(["sh", "-c", f"sleep {seconds + SLACK_S}; {undo}"], start_new_session=True)
    try:
        subprocess.run(["iptables", "-w", "-I", *rule], check=True)
        yield
    finally:
        subprocess.run(["sh", "-c", undo], check=False)
        os.killpg(guard.pid, signal.SIGKILL)
        guard.wait()


def cut_for(lab, seconds=CUT_S):
    """Cut this machine off from the nodes for so many seconds."""
    with cut_off(lab, seconds):
        time.sleep(seconds)


def cut_at(lab, words, at, seconds=CUT_S):
    """Run a verb and cut it off from the nodes for some seconds when a step begins; return its exit status and output."""
    running = start(*words)
    seen = reach(running, at)
    cut_for(lab, seconds)
    text = running.communicate(timeout=VERB_S)[0]
    return running.returncode, seen + text


def power_off_at(lab, words, at, node, seconds=20):
    """Run a verb and keep a node without power for some seconds when a step begins; return its exit status and output."""
    running = start(*words)
    seen = reach(running, at)
    with powered_off(lab, node):
        time.sleep(seconds)
    text = running.communicate(timeout=VERB_S)[0]
    return running.returncode, seen + text
