"""What the site's state keeps of operations: those that are half done, and what they have set for a while."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

OPERATION = "operation "
"""How owners begin whose settings end with their command."""
MAINTENANCE = "maintenance "
"""How owners begin whose settings a maintenance holds; the note of that name is the maintenance."""


@dataclass(frozen=True, slots=True)
class SettingRecord:
    """One temporary setting.

    Attributes:
        kind: which kind of setting (operations/settings.py).
        target: what it is set on.
        owner: ``operation COMMAND``, or what else it belongs to, e.g. ``maintenance NAME``.
        since: epoch seconds.
        before: whether somebody else had set it before; it is not undone then.
    """

    kind: str
    target: str
    owner: str
    since: float
    before: bool = False

    @property
    def temporary(self) -> bool:
        """Whether it ends with the command that set it."""
        return self.owner.startswith(OPERATION)

    def inherited(self) -> Self:
        """Return the record of an owner that from now on is to undo what another one of ours had set."""
        return replace(self, before=False)


@dataclass(frozen=True, slots=True)
class OperationRecord:
    """An operation that was begun and has not ended well.

    Attributes:
        command: what continues it; identifies it.
        verb: its verb.
        components: whose phases it blocks.
        started: epoch seconds.
        user: who began it, USER@HOST.
        steps: names of the steps that are done.
    """

    command: str
    verb: str
    components: tuple[str, ...]
    started: float
    user: str
    steps: tuple[str, ...] = ()


@dataclass(slots=True)
class Operations:
    """All that is kept of operations.

    Attributes:
        begun: command to its operation.
        settings: the temporary settings, oldest first.
        notes: name to what verbs keep, e.g. ``maintenance NAME``.
    """

    begun: dict[str, OperationRecord]
    settings: list[SettingRecord]
    notes: dict[str, dict[str, Any]]

    @classmethod
    def empty(cls) -> Self:
        """Return that of a site on which no operation ran."""
        return cls({}, [], {})

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Self:
        """Return what `as_dict` gave; keys of another release are left out. ValueError … for anything else."""
        begun = [OperationRecord(**_known(OperationRecord, one)) for one in data.get("begun", ())]
        begun = [replace(one, components=tuple(one.components), steps=tuple(one.steps)) for one in begun]
        settings = [SettingRecord(**_known(SettingRecord, one)) for one in data.get("settings", ())]
        notes = {str(name): dict(value) for name, value in data.get("notes", {}).items()}
        return cls({one.command: one for one in begun}, settings, notes)

    def as_dict(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return {
            "begun": [asdict(one) for one in self.begun.values()],
            "settings": [asdict(one) for one in self.settings],
            "notes": self.notes,
        }


def _known(kind: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    return {f.name: data[f.name] for f in fields(kind) if f.name in data}
