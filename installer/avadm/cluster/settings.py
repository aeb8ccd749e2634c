"""Temporary settings of an operation: recorded before they are set, undone whatever happens.

What somebody else had set before stays set. A setting whose command was killed is undone by the next command that holds the
site's lock, since no other can be at work then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from avadm.catalogue import finding
from avadm.cluster.connection import Cluster
from avadm.cluster.kinds import (
    AddressAway,
    ApiServerAway,
    Cordon,
    EndMetric,
    LocateLed,
    Noout,
    RunDrain,
    Silence,
    SiteNoout,
    SiteSilence,
)
from avadm.cluster.kinds_filesystem import NoStandbyReplay, OneRank
from avadm.cluster.setting import Setting
from avadm.errors import AvadmError
from avadm.findings import Finding, Severity
from avadm.state.operations import SettingRecord

KINDS: dict[str, type[Setting]] = {
    kind.kind: kind
    for kind in (
        AddressAway,
        ApiServerAway,
        Cordon,
        EndMetric,
        LocateLed,
        NoStandbyReplay,
        Noout,
        OneRank,
        RunDrain,
        Silence,
        SiteNoout,
        SiteSilence,
    )
}
"""Kind to its class, so that a record can be undone."""


class Settings:
    """The settings of a site that are recorded.

    Args:
        cluster: the site.
        tell: shows one line.
    """

    def __init__(self, cluster: Cluster, tell: Callable[[str], None]) -> None:
        self._cluster, self._tell = cluster, tell
        self._set: set[tuple[str, str, str]] = set()

    def hold(self, settings: Iterable[Setting], owner: str) -> None:
        """Set settings for an owner, each once and recorded first with whether it was set before."""
        state = self._cluster.state
        for setting in settings:
            key = setting.kind, setting.target, owner
            if key in self._set:
                continue
            if state.setting(setting.kind, setting.target, owner) is None:
                before = setting.held(self._cluster)
                record = SettingRecord(setting.kind, setting.target, owner, time.time(), before)
                state.keep_setting(record)
                self._cluster.push()
            setting.set(self._cluster)
            self._set.add(key)

    def release(self, records: Sequence[SettingRecord]) -> list[Finding]:
        """Undo recorded settings, but for what somebody else had set; return those that could not be undone."""
        if not records:
            return []
        state, found = self._cluster.state, []
        for record in records:
            kind = KINDS.get(record.kind)
            self._set.discard((record.kind, record.target, record.owner))
            try:
                if kind is None:
                    raise AvadmError.of("setting-unknown", found=record.kind)
                heirs = _heirs(state.settings(), record)
                if not record.before and not heirs:
                    kind(record.target).unset(self._cluster)
            except AvadmError as error:
                found.append(leftover(record, str(error)))
                continue
            if not record.before and heirs:
                # The other owner found it set by us; it is the one to undo it now.
                state.keep_setting(heirs[0].inherited())
            state.drop_setting(record)
        self._cluster.push()
        return found

    def hand_over(self, owner: str, heir: str) -> None:
        """Let another owner have an owner's settings: they stay after the operation that set them."""
        state = self._cluster.state
        for record in [r for r in state.settings() if r.owner == owner]:
            # A command that was killed in the middle of this finds set, as if by others, what the heir has already.
            had = state.setting(record.kind, record.target, heir)
            before = record.before and (had is None or had.before)
            state.keep_setting(replace(record, owner=heir, before=before))
            state.drop_setting(record)

    def recover(self, resumed: str = "") -> list[Finding]:
        """Undo what operations left that were killed; what a maintenance holds stays. The site's lock must be held.

        Args:
            resumed: the owner that continues now: of its settings those stay that are made for it (`Setting.resumed`).

        Returns:
            what could not be undone and must be first; the rest is shown, and tried again by the next command.
        """
        left = [r for r in self._cluster.state.settings() if r.temporary]
        left = [r for r in left if r.owner != resumed or r.kind not in KINDS or not KINDS[r.kind].resumed]
        for record in left:
            self._tell(f"Undoing what an interrupted command left: {record.kind} {record.target}.")
        found = self.release([r for r in left if blocks(r)])
        for one in self.release([r for r in left if not blocks(r)]):
            self._tell(f"Not undone: {one.found}")
        return found


def blocks(record: SettingRecord) -> bool:
    """Return whether a setting must be undone before another command changes the site; one of an unknown kind must."""
    return record.kind not in KINDS or KINDS[record.kind].blocks


def _heirs(records: Sequence[SettingRecord], record: SettingRecord) -> list[SettingRecord]:
    """Return the records of the same setting by other owners."""
    same = [r for r in records if (r.kind, r.target) == (record.kind, record.target)]
    return [r for r in same if r.owner != record.owner]


def leftover(record: SettingRecord, why: str = "", now: float | None = None) -> Finding:
    """Return a recorded setting that is still there, with its owner and age, as a finding."""
    age = ((time.time() if now is None else now) - record.since) / 60
    return finding(
        "setting-left",
        where=record.owner,
        found=f"{record.kind} {record.target}, set {age:.0f} min ago" + (f": {why}" if why else ""),
        wanted="undone when its command ended",
        severity=Severity.WARNING if not why else None,
    )
