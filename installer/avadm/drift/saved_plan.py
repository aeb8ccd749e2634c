"""A plan kept in a file: what was seen when it was made, and whether that still holds when it is to be done."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from avadm import __version__
from avadm.catalogue import finding
from avadm.errors import AvadmError
from avadm.state.run_folder import write_atomic

if TYPE_CHECKING:
    from avadm.drift.report import Reports
    from avadm.inventory.desired import Desired
    from avadm.plan.graph import ScheduledPhase

AGAIN = "Make a new plan and look at it: `avadm plan --out FILE`."


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Why(_Data):
    """Why a phase has to run; the attributes are those of drift.report.Reason."""

    host: str
    state: str
    item: str = ""
    recorded: str = ""
    found: str = ""


class PlannedPhase(_Data):
    """One phase of a kept plan.

    Attributes:
        name: the phase.
        inputs: each of its nodes to the digest of the inputs there.
        run: whether it is to be run; a phase that was proven unchanged is not.
        reasons: why.
    """

    name: str
    inputs: dict[str, str]
    run: bool
    reasons: list[Why]


class SavedPlan(_Data):
    """What `avadm plan --out` writes and `avadm apply --plan` reads.

    Attributes:
        version: of this format.
        avadm: the release that made it.
        site: name of the site.
        made: when, UTC.
        asked: phases that were asked for; none means all.
        limit: nodes that may be touched; none means all.
        phases: in order.
    """

    version: int = 1
    avadm: str
    site: str
    made: str
    asked: list[str]
    limit: list[str]
    phases: list[PlannedPhase]

    @classmethod
    def of(
        cls,
        desired: Desired,
        asked: Sequence[str],
        limit: Sequence[str],
        steps: Sequence[ScheduledPhase],
        reports: Reports,
    ) -> SavedPlan:
        """Return the plan that is made now, to be kept."""
        phases = [
            PlannedPhase(
                name=step.name,
                inputs={host: desired.digests.host(step.phase, host) for host in step.hosts},
                run=not reports[step.name].proven,
                reasons=[
                    Why(host=r.host, state=r.state, item=r.item, recorded=r.recorded, found=r.found)
                    for r in reports[step.name].reasons
                ],
            )
            for step in steps
        ]
        return cls(
            avadm=__version__,
            site=desired.site_file.site.name,
            made=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            asked=list(asked),
            limit=list(limit),
            phases=phases,
        )

    @classmethod
    def load(cls, path: Path, site: str) -> SavedPlan:
        """Return the plan of a file.

        Raises:
            AvadmError: it is no plan, or one of another site, release or format.
        """
        wanted = "a file that `avadm plan --out` wrote"
        try:
            plan = cls.model_validate_json(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            found = getattr(error, "strerror", None) or str(error)
            raise AvadmError.of(
                "plan-unreadable", where=str(path), found=found, wanted=wanted, remedy=AGAIN
            ) from error
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            found = f"{'.'.join(map(str, first['loc']))}: {first['msg']}".lstrip(": ")
            raise AvadmError.of(
                "plan-unreadable-format", where=str(path), found=found, wanted=wanted, remedy=AGAIN
            ) from error
        for what, found, now in (
            ("format", str(plan.version), "1"),
            ("release of avadm", plan.avadm, __version__),
            ("site", plan.site, site),
        ):
            if found != now:
                raise AvadmError.of(
                    "plan-of-another", where=str(path), found=found, wanted=now, what=what, remedy=AGAIN
                )
        return plan

    def save(self, path: Path) -> None:
        """Write the plan (0600: drift may tell what is configured); AvadmError where that fails."""
        try:
            write_atomic(path, self.model_dump_json(indent=1) + "\n")
        except OSError as error:
            found = error.strerror or str(error)
            raise AvadmError.of("plan-unwritable", where=str(path), found=found) from error

    def refuse_changes(self, now: SavedPlan, path: Path) -> None:
        """Raise AvadmError with every difference where the plan made now is another than this one, kept in a file."""
        findings = [
            finding(code, f"{path}: {where}", found, wanted, remedy=AGAIN)
            for where, code, found, wanted in _differences(_seen(self), _seen(now))
        ]
        if findings:
            raise AvadmError(findings)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What two plans are compared by, of one phase."""

    inputs: Mapping[str, str]
    run: bool
    reasons: Mapping[tuple[str, str, str], str]


def _seen(plan: SavedPlan) -> dict[str, _Seen]:
    return {
        p.name: _Seen(p.inputs, p.run, {(r.host, r.state, r.item): r.found for r in p.reasons})
        for p in plan.phases
    }


def _differences(kept: Mapping[str, _Seen], now: Mapping[str, _Seen]) -> Iterator[tuple[str, str, str, str]]:
    """Yield where, code, found (now) and wanted (planned) of each difference."""
    for name in dict.fromkeys([*kept, *now]):
        if name not in kept or name not in now:
            found, wanted = (
                ("part of it", "not part of it") if name in now else ("not part of it", "part of it")
            )
            yield name, "plan-outdated-part", found, wanted
            continue
        before, after = kept[name], now[name]
        for host in dict.fromkeys([*before.inputs, *after.inputs]):
            if before.inputs.get(host) != after.inputs.get(host):
                gone = host not in after.inputs
                found = "no node of it" if gone else "other inputs (site file, roles or secrets)"
                yield (
                    f"{name} on {host}",
                    "plan-outdated-inputs",
                    found,
                    "those of the plan",
                )
        for key in dict.fromkeys([*before.reasons, *after.reasons]):
            host, state, item = key
            if after.reasons.get(key) != before.reasons.get(key):
                where = f"{name} on {host or 'the cluster'}" + (f": {item}" if item else "")
                found, wanted = (_state(side.reasons.get(key), state) for side in (after, before))
                yield where, "plan-outdated-state", found, wanted


def _state(found: str | None, state: str) -> str:
    return "as recorded" if found is None else f"{state}: {found}"
