"""The step `boot`: kernel arguments of the profile, and a reboot of one node after the other where the site file allows it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from avadm.bootstrap.boot_scripts import FILE, REBOOT, look, write
from avadm.bootstrap.report import BootstrapState, NodeReport
from avadm.bootstrap.task import BootstrapTask
from avadm.catalogue import finding
from avadm.remote.connect import Target
from avadm.remote.fleet import Result
from avadm.remote.ssh import SshFleet

LOOK_TIMEOUT, WRITE_TIMEOUT = 60.0, 300.0  # seconds; update-grub looks at every disk
OWN_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class BootState:
    """How a node is booted: the boot's id, arguments without effect, arguments that were given, what serves others."""

    boot: str
    lacks: list[str]
    given: list[str]
    serves: list[str]

    @classmethod
    def of(cls, result: Result) -> BootState | None:
        """Return what the script has printed; None where it did not get so far."""
        lines = [line.split(" ", 1) for line in result.stdout.splitlines() if " " in line]

        def named(key: str) -> list[str]:
            return [rest for word, rest in lines if word == key]

        boots = named("boot")
        if result.rc != 0 or not boots:
            return None
        return cls(boots[0], named("lacks"), named("given"), named("serves"))


def reboot(job: BootstrapTask, targets: Sequence[Target], reports: dict[str, NodeReport]) -> None:
    """Have each node booted with its kernel arguments; never two at once, and none after one that did not come back.

    Args:
        job: what bootstrap is asked to do; its ``arguments`` name the nodes that need any.
        targets: nodes with root and python.
        reports: node name to its report, which gets the step.
    """
    concerned = [t for t in targets if job.arguments.get(t.node)]
    if not concerned:
        return
    with _fleet(job, concerned) as fleet:
        scripts = {t.node: look(job.arguments[t.node], job.root(t.node)) for t in concerned}
        answers = fleet.map(scripts, timeout=LOOK_TIMEOUT)
    own = OWN_BOOT.read_text(encoding="ascii").strip() if OWN_BOOT.exists() else ""
    waiting = []
    for target in concerned:
        report, seen = reports[target.node], BootState.of(answers[target.node])
        if seen is None:
            reply = answers[target.node]
            report.fail(
                "boot",
                reply.error or f"{target} cannot say how it was booted",
                found=reply.stderr.strip()[-300:],
            )
        elif not seen.lacks:
            report.add(
                "boot", BootstrapState.OK, f"booted as needed ({' '.join(job.arguments[target.node])})"
            )
        elif _may(job, target, seen, own, report):
            waiting.append((target, seen))
    for number, (target, seen) in enumerate(waiting, 1):
        job.say(f"Rebooting {target.node} with {' '.join(seen.lacks)} ({number} of {len(waiting)}) …")
        if not _one(job, target, seen, reports[target.node]):
            for other, _ in waiting[number:]:
                reports[other.node].fail(
                    "boot",
                    f"{other.node} was not rebooted, since {target.node} failed before it",
                    remedy=f"See to {target.node}, then run bootstrap again.",
                )
            return


def _may(job: BootstrapTask, target: Target, seen: BootState, own: str, report: NodeReport) -> bool:
    """Return whether a node may be rebooted; where not, its report has the reason."""
    lacks = " ".join(seen.lacks)
    by_hand = f"Drain it if it runs pods, add {lacks} to GRUB_CMDLINE_LINUX in /etc/default/grub, run `update-grub`, reboot it."
    if ignored := [a for a in seen.lacks if a in seen.given]:
        report.fail(
            "boot",
            f"{target.node} was booted with {' '.join(ignored)}, which has no effect there",
            where="/proc/cmdline",
            found=" ".join(ignored),
            remedy="Its systemd or kernel no longer supports it: install the operating system that the profile names.",
        )
    elif seen.serves:
        report.fail(
            "boot",
            f"{target.node} must be rebooted with {lacks}, but it serves already",
            found=", ".join(seen.serves[:8]),
            remedy=by_hand,
        )
    elif seen.boot == own:
        report.fail(
            "boot",
            f"{target.node} must be rebooted with {lacks}, but avadm runs on it, or shares its kernel",
            remedy=by_hand,
        )
    elif not job.allow_reboot:
        report.add("boot", BootstrapState.PENDING, f"to be rebooted with {lacks}")
        report.warning = finding(
            "bootstrap-boot",
            where="boot.allow_reboot",
            found="false",
            wanted="true, or a reboot by hand",
            host=target.node,
            node=target.node,
            lacks=lacks,
            by_hand=by_hand,
        )
    else:
        return True
    return False


def _one(job: BootstrapTask, target: Target, seen: BootState, report: NodeReport) -> bool:
    """Write the arguments, reboot one node and wait for it; return whether it is booted with them."""
    with _fleet(job, [target]) as fleet:
        # All of them: one that has its effect without the file may lose it with the next boot.
        wrote = fleet.run(
            target.node, write(job.arguments[target.node], job.root(target.node)), timeout=WRITE_TIMEOUT
        )
        if "written" not in wrote.stdout.split():
            why = {
                3: "it does not boot by GRUB, or update-grub is missing",
                4: "boot/grub/grub.cfg lacks them afterwards",
            }
            report.fail(
                "boot",
                wrote.error
                or f"the kernel arguments of {target} could not be set: {why.get(wrote.rc, 'update-grub failed')}",
                where=FILE,
                found=wrote.stderr.strip()[-300:] or f"exit status {wrote.rc}",
                remedy=f"Add {' '.join(seen.lacks)} to the kernel's command line by hand and reboot the node.",
            )
            return False
        asked = fleet.run(target.node, REBOOT, timeout=LOOK_TIMEOUT)
    if "rebooting" not in asked.stdout.split():
        report.fail(
            "boot",
            asked.error or f"{target} could not be rebooted",
            found=asked.stderr.strip()[-300:],
            remedy="Reboot it by hand, then run bootstrap again.",
        )
        return False
    now = _back(job, target, seen.boot)
    if now is None:
        report.fail(
            "boot",
            f"{target.node} did not come back within {job.reboot_timeout:.0f} s of its reboot",
            where=target.host,
            remedy="Look at its console. If it takes longer to boot, wait; then run bootstrap again. No other node was rebooted.",
        )
        return False
    if now.lacks:
        report.fail(
            "boot",
            f"{target.node} was rebooted, and still lacks {' '.join(now.lacks)}",
            where="/proc/cmdline",
            found=" ".join(now.given) or "none of them",
            remedy=f"See which entry its boot loader boots; avadm wrote {FILE} and ran update-grub.",
        )
        return False
    report.add("boot", BootstrapState.CHANGED, f"rebooted with {' '.join(seen.lacks)}")
    return True


def _back(job: BootstrapTask, target: Target, before: str) -> BootState | None:
    """Wait until a node answers from another boot; None where it does not in time."""
    end = time.monotonic() + job.reboot_timeout
    while time.monotonic() < end:
        time.sleep(job.poll_seconds)
        with _fleet(job, [target]) as fleet:
            seen = BootState.of(
                fleet.run(
                    target.node, look(job.arguments[target.node], job.root(target.node)), timeout=LOOK_TIMEOUT
                )
            )
        if seen is not None and seen.boot != before:
            return seen
    return None


def _fleet(job: BootstrapTask, targets: Sequence[Target]) -> SshFleet:
    return SshFleet(targets, known_hosts=job.known_hosts, key=job.key.path, connect_timeout=job.timeout)
