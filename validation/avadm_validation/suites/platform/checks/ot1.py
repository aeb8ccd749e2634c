"""A-OT1: a user in two groups is charged to the one that is the default when a training is started, and no quota is exceeded."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Metric
from avadm_validation.suites.platform import platform_client, polling
from avadm_validation.suites.platform.journal import ENDED, Journal
from avadm_validation.suites.platform.tenant import Tenant, tenant
from avadm_validation.suites.platform.work import CPU, MEMORY, role, spec

ID = "A-OT1"
TITLE = (
    "charged to the default group at creation, never beyond its quota",
    "按创建时的默认组计费,且不超配额",
)
NEEDS = ""


class Changer:
    """A second program of the same user that changes the default group again and again.

    Args:
        who: the user.
        journal: notes each change.
        gap: seconds between two changes.
    """

    def __init__(self, who: Tenant, journal: Journal, gap: float) -> None:
        self._who, self._journal, self._gap = who, journal, gap
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._change, daemon=True)
        self.error: Exception | None = None

    def __enter__(self) -> Changer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join(60)

    def _change(self) -> None:
        turn = 0
        try:
            while not self._over.is_set():
                turn += 1
                set_default(self._who, self._journal, self._who.groups[turn % 2])
                self._over.wait(self._gap)
        except Exception as error:  # reported by the check, whose thread this is not
            self.error = error


def set_default(who: Tenant, journal: Journal, group: str) -> None:
    """Choose the default group; noted with when the request began and ended."""
    t = polling.now()
    who.user.set_default_group(group)
    journal.note("default", t, to=group, until=round(polling.now(), 6))


def run(ctx: Context) -> Outcome:
    """Start in one group, change the default, start in the other; then start many while the default changes; end all."""
    p = ctx.params
    room = int(p["room"])
    quota = {"gpu": 0, "cpu": room * CPU, "memory": 100 * room * MEMORY}
    with tenant(ctx, [quota, quota]) as who:
        journal = Journal(who.user, who.groups[0])
        set_default(who, journal, who.groups[0])
        _one_each(ctx, who, journal)
        with Changer(who, journal, float(p["gap_s"])) as changer:
            ctx.step("start trainings while the default group changes", int(p["runs"]))
            for i in range(int(p["runs"])):
                _start(ctx, journal, f"race-{i % 3}")
                _groups(who, journal, "group")
        if changer.error is not None:
            raise MeasureError(f"the default group could not be changed: {changer.error}")
        quiet = _quiet(ctx, who, journal)
        _end_all(ctx, who, journal)
    return _outcome(ctx, {"journal": [journal.save(ctx)]}, quota["cpu"], quiet)


def _start(ctx: Context, journal: Journal, name: str) -> str:
    return journal.start(name, spec(platform_client.target(ctx).image, "graceful", role()))


def _one_each(ctx: Context, who: Tenant, journal: Journal) -> None:
    """Start a run in each group: the first must stay where it is when the default changes."""
    _start(ctx, journal, "first")
    set_default(who, journal, who.groups[1])
    _start(ctx, journal, "second")
    _look(who, journal)
    _groups(who, journal, "group")


def _look(who: Tenant, journal: Journal) -> tuple[tuple[str, str], ...]:
    """Look at the runs of both groups; return which group each is in and whether it waits."""
    for group in who.groups:
        journal.group = group
        journal.look()
    now = [
        (r, "queued" if s == "queued" else "ended" if s in ENDED else "admitted")
        for r, s in journal.states.items()
    ]
    return tuple(sorted(now))


def _groups(who: Tenant, journal: Journal, do: str, **more: Any) -> dict[str, int]:
    """Note what each group has and may have, thousandths of a core; return what each has."""
    found = {}
    for name in who.groups:
        group = who.user.group(name)
        found[name] = group.used.cpu
        journal.note(do, group=name, used=group.used.cpu, quota=group.quota.cpu, **more)
    return found


def _quiet(ctx: Context, who: Tenant, journal: Journal) -> bool:
    """Wait until nothing changes; note what each group is charged for beside what of it was admitted; return whether it came."""
    before: Any = None

    def still() -> bool:
        nonlocal before
        now = (_look(who, journal), _groups(who, journal, "group"))
        same, before = bool(now == before), now
        return same

    if not polling.until(still, float(ctx.params["quiet_s"]), every=1.0):
        return False
    states, used = before
    groups = {r: x.group for r, x in journal.runs.items()}
    for name in who.groups:
        admitted = sum(groups[r] == name and s == "admitted" for r, s in states)
        journal.note("quiet", group=name, used=used[name], admitted=admitted)
    for run, state in states:
        if state == "queued":
            journal.note("quiet-queued", run=run, group=groups[run])
    return True


def _end_all(ctx: Context, who: Tenant, journal: Journal) -> None:
    """End all runs, those that wait first, so that none of them begins."""
    ctx.step("end all of them")
    waiting = [r for r, s in _look(who, journal) if s == "queued"]
    others = [r for r, s in _look(who, journal) if s == "admitted" and r not in waiting]
    for run in [*waiting, *others]:
        journal.stop(run)

    def over() -> bool:
        return all(s == "ended" for _, s in _look(who, journal))

    polling.until(over, float(ctx.params["end_s"]))
    _groups(who, journal, "end")


def _outcome(ctx: Context, raw: dict[str, list[str]], quota: int, quiet: bool) -> Outcome:
    runs = int(ctx.params["runs"]) + 2

    def one(name: str, titles: tuple[str, str], unit: str, extract: str, **params: float) -> Metric:
        return metric(name, titles, unit, "cluster", [ctx.sample(extract, raw, **params)])

    reasons: Sequence[str] = (
        () if quiet else ["what is charged continued changing: it was never compared with what runs"]
    )
    return Outcome(
        method=f"one user in two groups, each with {quota} thousandths of a core: a training in each, the "
        f"default group changed in between; then {runs - 2} trainings from one program while another one "
        f"changes the default group every {ctx.params['gap_s']} s. Each has to be charged to a group that was "
        "the default while it was started, and to stay there; a group is looked at after each start, and "
        "when nothing changes any more what it is charged for is what of it was admitted, and nothing once "
        "all have ended",
        metrics=[
            one(
                "elsewhere",
                ("trainings charged to another group than the default", "计费组不符的任务"),
                "runs",
                "ava_charged_elsewhere",
            ),
            one(
                "moved", ("trainings whose group changed later", "计费组后来变化的任务"), "runs", "ava_moved"
            ),
            one(
                "over-quota",
                ("looks that saw a group beyond its quota", "超出配额的观测次数"),
                "looks",
                "ava_over_quota",
                each=float(CPU),
            ),
            one(
                "waited",
                ("trainings that waited for a full group", "因配额用尽而等待的任务"),
                "runs",
                "ava_waited",
            ),
            one(
                "differing",
                ("groups charged for other than what was admitted", "计费与实际不符的组"),
                "groups",
                "ava_differing",
                each=float(CPU),
            ),
            one(
                "left",
                ("groups charged for something after the end", "结束后仍计费的组"),
                "groups",
                "ava_left_charged",
            ),
        ],
        reasons=[*reasons],
        remedy="`avadm doctor --only ava,database`; the database's log: kubectl logs -n ava-system -l "
        "part=scheduler, part=operator.",
    )
