"""What the ledger can do with folders of the shared file system, data sets and uploads; see interface.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from ava.domain.data_sets import DataSet, Elsewhere, Share, Upload, Wanted
from ava.domain.folders import Folder, FolderKind
from ava.domain.model import Page


class Folders(Protocol):
    """Folders as they have to be, and as they were last seen."""

    def file_system(self, id: int) -> int:
        """Return the number of the file system that this ledger's folders lie on; the first one that is said stays."""

    def known_file_system(self) -> int | None:
        """Return that number, None where none was said yet."""

    def wanted_folder(self, kind: FolderKind, name: str) -> Wanted | None:
        """Return how one folder has to be; None for one that nobody wants (any more)."""

    def wanted_folders(self) -> Sequence[Wanted]:
        """Return how all folders have to be."""

    def folder_seen(self, folder: Folder) -> None:
        """Keep what was seen of a folder; ``made`` stays as it was first said."""

    def folder(self, kind: FolderKind, name: str) -> Folder:
        """Return what was last seen of a folder; one that nobody has seen has no ``made``."""

    def home_quota(self, user: str) -> int | None:
        """Return the limit of a user's home, bytes; None: the site's default."""

    def set_home_quota(self, user: str, quota: int | None, now: datetime) -> None:
        """Choose the limit of a user's home."""


class DataSets(Protocol):
    """Data sets, who may read them, which runs have them, and files that are being sent."""

    def add_data_set(
        self,
        owner: str,
        name: str,
        source: Mapping[str, Any],
        now: datetime,
        *,
        quota: int | None = None,
        most: int | None = None,
    ) -> DataSet:
        """Store a data set. The same again changes nothing; another source under the same name is 409.

        So is a limit (``quota``) by which all data sets of the owner may have more than ``most`` together, bytes.
        """

    def data_sets_promised(self, owner: str) -> int:
        """Return the sum of the limits of an owner's data sets, bytes; those without a limit are not in it."""

    def data_set(self, id: str) -> DataSet:
        """Return a data set that is not deleted."""

    def data_sets(
        self, *, reader: str | None = None, after: str | None = None, limit: int = 50
    ) -> Page[DataSet]:
        """Return data sets, newest first: all, or those that a user may read."""

    def may_read(self, id: str, user: str) -> bool:
        """Return whether a data set is a user's own, or shared with them or a group of theirs."""

    def set_data_set_quota(self, id: str, quota: int | None, now: datetime) -> DataSet:
        """Choose a data set's limit, bytes."""

    def share(self, id: str, kind: str, who: str, now: datetime) -> None:
        """Let a user or the members of a group read a data set. Twice does no harm."""

    def unshare(self, id: str, kind: str, who: str) -> None:
        """Take that back: no further run gets it; those that have it keep it until they end. 404 where it was not shared."""

    def shares(self, id: str) -> Sequence[Share]:
        """Return with whom a data set is shared."""

    def users_of(self, id: str) -> Sequence[tuple[str, bool, bool]]:
        """Return runs that name a data set and have not finished: id, whether it writes, whether it was admitted."""

    def data_of(self, run: str) -> Sequence[tuple[DataSet, bool]]:
        """Return the data sets of a run that was admitted, and whether it writes each."""

    def delete_data_set(self, id: str, now: datetime) -> None:
        """Delete a data set with its files; 409 while a run that has not finished names it."""

    def unused(self, id: str, action: Callable[[Callable[[], None]], None]) -> None:
        """Do something with a data set's files while no run has it, and none gets it meanwhile; 409 where one has it.

        It may be done more than once, and that it was done is not undone with the transaction.
        """

    def data_set_removed(self, id: str, now: datetime) -> None:
        """Say that nothing is left of a deleted data set."""

    def sources(self, kind: str) -> Sequence[DataSet]:
        """Return the data sets of a kind of source of which something may be there, deleted ones among them."""

    def elsewhere(self, id: str) -> Elsewhere:
        """Return what was last seen of a data set whose bytes lie elsewhere."""

    def elsewhere_seen(self, seen: Elsewhere) -> None:
        """Keep what was seen of it."""

    def add_upload(self, data_set: str, user: str, path: str, length: int, now: datetime) -> Upload:
        """Begin to send a file."""

    def upload(self, id: str) -> Upload:
        """Return a file that is being sent."""

    def uploads(self, data_set: str) -> Sequence[Upload]:
        """Return the files that are being sent into a data set, oldest first."""

    def stale_uploads(self, before: datetime) -> Sequence[Upload]:
        """Return uploads that began before a time, oldest first."""

    def end_upload(self, id: str) -> None:
        """Forget an upload: it is in its place, or was given up. Twice does no harm."""
