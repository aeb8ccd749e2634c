"""What a temporary setting is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from avadm.cluster.connection import Cluster


@dataclass(frozen=True)
class Setting(ABC):
    """Something that is set on the cluster for a while.

    Attributes:
        target: what it is set on, e.g. a node's name; with the kind it identifies the setting. A class may have further
            fields, with defaults: from a record it is made of its target alone, to be undone.
    """

    kind: ClassVar[str]
    """Names the class in records; never renamed."""
    blocks: ClassVar[bool] = True
    """Whether commands are refused while it could not be undone; not where what is left of it loses nothing."""
    resumed: ClassVar[bool] = False
    """Whether it stays set until the command that was killed continues, where undoing it first would lose something."""
    target: str

    @property
    def title(self) -> str:
        """What it is, for people."""
        return f"{self.kind} {self.target}"

    @abstractmethod
    def held(self, cluster: Cluster) -> bool:
        """Return whether it is set, by us or somebody else."""

    @abstractmethod
    def set(self, cluster: Cluster) -> None:
        """Set it; a second time changes nothing."""

    @abstractmethod
    def unset(self, cluster: Cluster) -> None:
        """Undo it; where it is not set nothing is changed."""
