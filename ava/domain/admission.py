"""Which waiting runs the quotas of their groups and queues admit, in which order, and why the others wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from ava.domain.amounts import number
from ava.domain.model import Group, Queue, Quota, Run
from ava.domain.phrases import Phrase
from ava.domain.problems import Problem
from ava.domain.resources import FIELDS, Resources

_LABEL = {"gpu": Phrase("GPUs"), "cpu": Phrase("cores"), "memory": Phrase("of memory")}
_AMOUNT = {
    "gpu": Phrase("{amount} GPUs"),
    "cpu": Phrase("{amount} cores"),
    "memory": Phrase("{amount} of memory"),
}
_ACCOUNT = {"group": Phrase("group {name}"), "queue": Phrase("queue {name}")}
_THE_ACCOUNT = {"group": Phrase("The group {name}"), "queue": Phrase("The queue {name}")}
QUOTA_CODES = frozenset(
    f"{kind}-{code}" for kind in ("group", "queue") for code in ("quota", "behind", "never")
) | {"quota-used-up", "changed-meanwhile"}
"""Codes of the reasons that are about quotas; with any other one a run uses and keeps no quota while it waits."""


@dataclass(slots=True)
class Admission:
    """What a round came to.

    Attributes:
        admit: ids of runs, in the order in which they are to be charged.
        waits: why each of the others waits.
    """

    admit: list[str] = field(default_factory=list)
    waits: dict[str, list[Problem]] = field(default_factory=dict)


class _Account:
    """A group's or a queue's quota with what is used, and what is kept of it for the first that has to wait.

    ``stopping`` is the part of what is used that runs have that are being stopped.
    """

    def __init__(self, kind: str, name: str, quota: Quota, used: Resources, stopping: Resources) -> None:
        self.where, self.subject = Phrase(_ACCOUNT[kind], name=name), Phrase(_THE_ACCOUNT[kind], name=name)
        self.kind, self.quota, self.used, self.stopping = kind, quota, used, stopping
        self.kept: Resources | None = None

    def over(self, asks: Resources, used: Resources) -> list[str]:
        """Return what a quota has too little of beside what is used."""
        return [
            name
            for name in FIELDS
            if (limit := getattr(self.quota, name)) is not None
            and (want := getattr(asks, name)) > 0
            and getattr(used, name) + want > limit
        ]

    def never(self, asks: Resources) -> list[str]:
        return self.over(asks, Resources())

    def lacks(self, asks: Resources) -> list[str]:
        return self.over(asks, self.used)

    def behind(self, asks: Resources) -> list[str]:
        return self.over(asks, self.used.plus(self.kept)) if self.kept is not None else []

    def take(self, asks: Resources) -> None:
        self.used = self.used.plus(asks)

    def keep(self, asks: Resources) -> None:
        """Keep an amount for a run that waits; only the first one's is kept."""
        if self.kept is None:
            self.kept = asks

    def free(self, name: str) -> int:
        left: int = (getattr(self.quota, name) or 0) - getattr(self.used, name)
        return max(0, left)

    def soon(self, name: str) -> int:
        """Return how much more is free when the runs that are stopping have ended."""
        used: int = getattr(self.used, name) - getattr(self.stopping, name)
        return max(0, (getattr(self.quota, name) or 0) - used) - self.free(name)

    def say(
        self, code: str, text: str, names: list[str], asks: Resources, remedy: str, soon: str = ""
    ) -> list[Problem]:
        """Return a problem for each name; ``soon`` is its text where runs that are stopping give something back."""
        return [
            Problem(
                f"{self.kind}-{code}",
                Phrase(
                    soon if soon and self.soon(n) > 0 else text,
                    where=self.subject,
                    free=number(n, self.free(n)),
                    soon=number(n, self.soon(n)),
                    quota=number(n, getattr(self.quota, n) or 0),
                    want=number(n, getattr(asks, n)),
                    label=_LABEL[n],
                ),
                self.where,
                Phrase(
                    "{free} free of {quota} {label}",
                    free=number(n, self.free(n)),
                    quota=number(n, getattr(self.quota, n) or 0),
                    label=_LABEL[n],
                ),
                Phrase(_AMOUNT[n], amount=number(n, getattr(asks, n))),
                remedy,
            )
            for n in names
        ]


def turn(run: Run, queues: Mapping[str, Queue]) -> tuple[int, int, str, str]:
    """Return the key of a run's turn: the queue's priority, its own, age, id."""
    queue = queues.get(run.queue)
    return (-(queue.priority if queue else 0), -run.priority, run.created.isoformat(), run.id)


def admissions(
    runs: Iterable[Run],
    groups: Mapping[str, Group],
    queues: Mapping[str, Queue],
    admit: Callable[[Run], Sequence[Problem]] = lambda run: (),
    stopping: Mapping[tuple[str, str], Resources] = MappingProxyType({}),
) -> Admission:
    """Decide on all runs that wait.

    A run is admitted when its group and its queue have room for all that it asks for. The first that has to wait keeps what it
    needs: of its group always, of its queue once its group has the room (else a group at its quota would hold up all others of
    the queue). Later runs are filled in beside what is kept, so none starves as long as runs end. What a quota of today
    could never admit keeps nothing.

    Args:
        runs: queued ones.
        groups: by what ``run.group`` says, with what they use.
        queues: by what ``run.queue`` says, with what they use.
        admit: called in turn for each run that the quotas admit; returns why it is not admitted all the same. Such a run takes
            and keeps nothing, unless it is a quota that it lacks: then what is used has just changed, and it waits in its turn.
        stopping: what runs that are being stopped still use of each ("group" or "queue", its name); for reasons alone.
    """
    result = Admission()
    accounts: dict[tuple[str, str], _Account] = {}

    def account(kind: str, key: str) -> _Account | None:
        found = accounts.get((kind, key))
        thing = (groups if kind == "group" else queues).get(key)
        if found is None and thing is not None:
            soon = stopping.get((kind, thing.name), Resources())
            found = accounts[kind, key] = _Account(kind, thing.name, thing.quota, thing.used, soon)
        return found

    for run in sorted(runs, key=lambda r: turn(r, queues)):
        group, queue = account("group", run.group), account("queue", run.queue)
        if group is None or queue is None:
            gone = (
                Phrase("group {name}", name=run.group)
                if group is None
                else Phrase("queue {name}", name=run.queue)
            )
            what = Phrase("The {gone} is not there any more.", gone=gone)
            result.waits[run.id] = [
                Problem("account-gone", what, gone, remedy=Phrase("Stop the run and submit it again."))
            ]
            continue
        problems: Sequence[Problem] = _why_not(run.asks, group, queue)
        if not problems:
            problems = admit(run)
            if not problems or all(p.code in QUOTA_CODES for p in problems):
                group.take(run.asks)
                queue.take(run.asks)
        if problems:
            result.waits[run.id] = list(problems)
        else:
            result.admit.append(run.id)
    return result


def _why_not(asks: Resources, group: _Account, queue: _Account) -> list[Problem]:
    """Return why a run is not admitted, and keep what it needs if it is the first."""
    never = [
        problem
        for account in (group, queue)
        for problem in account.say(
            "never",
            Phrase("{where} may have {quota} {label} in all, {want} are wanted: this run can never start."),
            account.never(asks),
            asks,
            Phrase("Stop the run and ask for less, or ask the administrator for a larger quota."),
        )
    ]
    if never:
        return never
    short_group, short_queue = group.lacks(asks), queue.lacks(asks)
    text = Phrase("{where} has {free} of {quota} {label} free, {want} are wanted.")
    soon = Phrase(
        "{where} has {free} of {quota} {label} free ({soon} more when runs that are stopping have ended), "
        "{want} are wanted."
    )
    remedy = Phrase(
        "Wait until runs of the group end, stop one, or ask the administrator for a larger quota."
    )
    lacking = group.say("quota", text, short_group, asks, remedy, soon)
    remedy = Phrase("Wait until runs of the queue end, or submit it to another queue.")
    lacking += queue.say("quota", text, short_queue, asks, remedy, soon)
    remedy = Phrase("Wait: it starts after the other one, or earlier where it fits beside it.")
    text = Phrase(
        "{where} has {free} {label} free, kept for an earlier run that needs more; {want} are wanted."
    )
    behind = group.say("behind", text, [n for n in group.behind(asks) if n not in short_group], asks, remedy)
    behind += queue.say("behind", text, [n for n in queue.behind(asks) if n not in short_queue], asks, remedy)
    if lacking or behind:
        held_up = bool(short_group) or any(p.code.startswith("group") for p in behind)
        group.keep(asks)
        if not held_up:
            queue.keep(asks)
    return lacking + behind
