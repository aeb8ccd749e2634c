"""What is recorded of a site on this controller: the state of its phases, and what they left on its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from avadm.state.site_state import SiteState, state_folder
from avadm.state.snapshots import SnapshotStore


@dataclass(frozen=True, slots=True)
class SiteRecords:
    """The records of a site.

    Attributes:
        state: the state of each phase on each node.
        snapshots: what each phase left behind.
    """

    state: SiteState
    snapshots: SnapshotStore

    @classmethod
    def of(cls, site_path: Path, name: str, *, tolerant: bool = False) -> SiteRecords:
        """Return the records beside a site file; nothing is written. ``tolerant`` is that of SiteState."""
        folder = state_folder(site_path, name)
        return cls(
            SiteState.of(site_path, name, tolerant=tolerant), SnapshotStore(folder / "fingerprints.json")
        )

    @property
    def folder(self) -> Path:
        """The folder of the records and of the site's lock."""
        return self.state.path.parent
