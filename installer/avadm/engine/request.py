"""What a run is asked for, and how its progress is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from avadm.drift.saved_plan import SavedPlan
from avadm.engine.recorder import Display, Recorder
from avadm.plan.graph import ScheduledPhase
from avadm.site.model import Site

Show = Callable[[Site, Sequence[ScheduledPhase]], Display]
"""Makes what shows a run while it runs."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a run is asked for.

    Attributes:
        command: the command that continues with it.
        phases: names of phases; all where empty.
        limit: nodes that may be touched; all where empty.
        resume: leave out phases that are done with the same inputs.
        full: run what is proven unchanged too.
        check: change nothing.
        break_lock: remove another run's lock.
        forks: hosts at once.
        own: variables of nodes for this run alone.
        kept: the kept plan that is done, and its file.
    """

    command: str
    phases: Sequence[str] = ()
    limit: Sequence[str] = ()
    resume: bool = False
    full: bool = False
    check: bool = False
    break_lock: bool = False
    forks: int = 25
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    kept: tuple[SavedPlan, Path] | None = None


class Notes:
    """Messages of a run beside its events; kept for the log until there is one.

    Args:
        tell: shows a note.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._kept: list[str] = []
        self._recorder: Recorder | None = None

    def __call__(self, text: str) -> None:
        """Show a note and log it."""
        self._tell(text)
        self.to_log(text)

    def to_log(self, text: str) -> None:
        """Log a note only."""
        if self._recorder is None:
            self._kept.append(text)
        else:
            self._recorder.note(text)

    @contextmanager
    def logged(self, recorder: Recorder) -> Iterator[None]:
        """Log through a recorder from now on, what was kept first."""
        for text in self._kept:
            recorder.note(text)
        self._recorder = recorder
        try:
            yield
        finally:
            self._recorder = None
