"""An AVA behind a real server with the files of data sets, as the ingress puts API and storage under one name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.types import Receive, Scope, Send

from ava.api.admin import sealing_key
from ava.domain.folders import FolderKind
from ava.files import server
from ava.files.config import Config
from ava.files.filesystem import Filesystem
from ava.files.folders import FolderReconciler
from ava.files.metrics import Metrics
from tests.unit.ava.files.without_ceph import ME
from tests.unit.ava.served import Served


class ServedWithFiles(Served):
    """A Served whose data sets lie in a folder of this machine; ``without_ceph`` has to be in place.

    Attributes:
        shared: the folder that stands for the shared file system.
        refuse: asked before a request to the storage; a status that it returns is the answer (0: none).
    """

    def __init__(self, folder: Path, **more: Any) -> None:
        self.refuse = lambda method, path: 0
        super().__init__(folder, **more)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shared = self.folder / "shared"
        scratch, key = self.folder / "scratch", self.folder / "sealing"
        for path in (self.shared, scratch):
            path.mkdir()
        sealing_key(key)
        ground = Filesystem(self.shared, self.db, lambda path: "fuse.ceph-fuse", ME[1])
        ground.found()
        self.maker = FolderReconciler(self.db, ground, lambda: self.now, owner=ME)
        config = Config(sealing_key=key, scratch=scratch, mount=self.shared)
        files, pages = server.application(self.services, ground, config, Metrics()), self.app

        async def ingress(scope: Scope, receive: Receive, send: Send) -> None:
            if not str(scope.get("path", "")).startswith(server.PREFIX):
                await pages(scope, receive, send)
            elif status := self.refuse(scope["method"], scope["path"]):
                await send({"type": "http.response.start", "status": status, "headers": []})
                await send({"type": "http.response.body"})
            else:
                await files(scope, receive, send)

        self.app = ingress  # type: ignore[assignment]

    def data_set(self, owner: str, name: str) -> tuple[str, Path]:
        """Return the id of a new data set, and its folder, which is made at once."""
        made = self.db.data_sets.create(owner, name, {"kind": "folder"}, self.now).id
        return made, self.folder_of(made)

    def folder_of(self, id: str) -> Path:
        """Return the folder of a data set's files, which is made now."""
        self.maker.look(FolderKind.DATA_SET, id)
        return self.shared / "datasets" / id / "data"
