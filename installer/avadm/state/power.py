"""What the site's state keeps while a site is switched off on purpose."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from avadm.errors import DAMAGE
from avadm.state.site_state import SiteState

POWER = "power"
"""Name of the note, and owner of the settings that stay until the site is started again."""


class PowerState(StrEnum):
    """How far a site is that was stopped on purpose."""

    STOPPING = "stopping"
    DOWN = "down"
    STARTING = "starting"


@dataclass(frozen=True, slots=True)
class PowerNote:
    """A site that was stopped on purpose, from when its first daemon is stopped until it serves again.

    Attributes:
        state: how far it is.
        user: who stopped it, USER@HOST.
        since: epoch seconds.
        command: the command that stopped it.
        without: nodes that did not answer then; what they run is not known.
        off: whether the nodes were switched off too.
    """

    state: PowerState
    user: str
    since: float
    command: str
    without: tuple[str, ...] = ()
    off: bool = False

    @classmethod
    def of(cls, note: dict[str, Any]) -> Self:
        """Return that of a note; one that a newer release wrote in other words still says that the site is down."""
        try:
            state = PowerState(note["state"])
        except DAMAGE:
            state = PowerState.DOWN
        try:
            since = float(note["since"])
        except DAMAGE:
            since = 0.0
        without = note.get("without")
        names = tuple(map(str, without)) if isinstance(without, list | tuple) else ()
        text = {key: str(note.get(key, "unknown")) for key in ("user", "command")}
        return cls(state, text["user"], since, text["command"], names, bool(note.get("off")))

    @property
    def note(self) -> dict[str, Any]:
        """What the site's state keeps of it."""
        return {
            "state": self.state.value,
            "user": self.user,
            "since": self.since,
            "command": self.command,
            "without": list(self.without),
            "off": self.off,
        }

    @property
    def words(self) -> str:
        """It for people: since when, and by whom."""
        since = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.since))
        return f"powered down since {since} by {self.user}"

    def as_dict(self, now: float) -> dict[str, Any]:
        """Return it JSON-ready, with its age in seconds."""
        return {**self.note, "age_s": round(now - self.since), "words": self.words}


def powered_down(state: SiteState) -> PowerNote | None:
    """Return the note of a site that was stopped on purpose and does not serve again; None of any other."""
    found = state.notes().get(POWER)
    return PowerNote.of(found) if found is not None else None
