"""The temporary settings of a ceph file system: one rank only, and no standbys that follow a rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from avadm.cluster.ceph_release import FileSystem, file_systems
from avadm.cluster.connection import Cluster
from avadm.cluster.setting import Setting


@dataclass(frozen=True)
class OneRank(Setting):
    """A file system has one rank instead of several; the target is ``NAME=RANKS``, the number that it had."""

    kind: ClassVar[str] = "max-mds"

    @property
    def title(self) -> str:
        """What it is, for people."""
        return f"max_mds 1 of {self._name}, {self._former} before"

    @property
    def _name(self) -> str:
        return self.target.rpartition("=")[0]

    @property
    def _former(self) -> str:
        return self.target.rpartition("=")[2]

    def held(self, cluster: Cluster) -> bool:
        """Return whether it has one rank."""
        found = _named(cluster, self._name)
        return found is not None and found.max_mds == 1

    def set(self, cluster: Cluster) -> None:
        """Let it have one."""
        cluster.ceph("fs", "set", self._name, "max_mds", "1")

    def unset(self, cluster: Cluster) -> None:
        """Let it have as many as before, unless another number was set meanwhile or it is gone."""
        if self.held(cluster):
            cluster.ceph("fs", "set", self._name, "max_mds", self._former)


@dataclass(frozen=True)
class NoStandbyReplay(Setting):
    """Standbys follow no rank's journal; the target is the file system's name."""

    kind: ClassVar[str] = "no-standby-replay"

    def held(self, cluster: Cluster) -> bool:
        """Return whether they follow none."""
        found = _named(cluster, self.target)
        return found is not None and not found.standby_replay

    def set(self, cluster: Cluster) -> None:
        """Let them follow none."""
        cluster.ceph("fs", "set", self.target, "allow_standby_replay", "false")

    def unset(self, cluster: Cluster) -> None:
        """Let them follow again; of a file system that is gone there is nothing to undo."""
        if self.held(cluster):
            cluster.ceph("fs", "set", self.target, "allow_standby_replay", "true")


def _named(cluster: Cluster, name: str) -> FileSystem | None:
    return next((one for one in file_systems(cluster) if one.name == name), None)
