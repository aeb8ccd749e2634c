"""The settings of the storage's program: one YAML file; secrets are named by the files that hold them."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ava.kube.leader import Lease
from ava.store.address import Database

Address = Annotated[str, Field(pattern=r"^\[?[0-9A-Za-z.:-]*\]?:[0-9]{1,5}$")]
Seconds = Annotated[float, Field(gt=0, le=86400)]


class ConfigError(Exception):
    """The settings cannot be used; the text names every error."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Election(_Strict):
    """Who of several processes makes folders (kube/leader.py); all of them take and show files."""

    namespace: str = "ava-system"
    name: str = "ava-storage"
    length: Seconds = 15
    margin: Seconds = 5
    every: Seconds = 2

    def lease(self) -> Lease:
        """Return its times."""
        return Lease(self.length, self.margin, self.every)


class Config(_Strict):
    """All settings.

    Attributes:
        mount: where this process has the shared file system.
        listen: address and port at which users' files are taken and shown.
        internal: address and port of health and metrics.
        kubeconfig: None: the service account of the pod that this runs in.
        sealing_key: the API's; cursors of lists are sealed with it.
        trusted_proxies: networks whose X-Forwarded-For is believed.
        home_quota: bytes of a home whose user has no limit of their own; None: none.
        every: seconds between two looks at all folders, which measure them too.
        poll: seconds after which the ledger is looked at although it has told nothing.
        scratch: folder for sorted lists of large folders; empty at the start.
        upload_days: an upload that nobody goes on with is given up after so many days.
    """

    database: Database = Database()
    mount: Path = Path("/shared")
    listen: Address = "127.0.0.1:8080"
    internal: Address = "127.0.0.1:9090"
    kubeconfig: Path | None = None
    election: Election = Election()
    sealing_key: Path
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    home_quota: Annotated[int, Field(ge=2**20)] | None = None
    every: Seconds = 60
    poll: Seconds = 5
    scratch: Path = Path("/dev/shm")  # noqa: S108 - memory of the process' own container
    upload_days: Annotated[float, Field(gt=0, le=365)] = 7


def load(path: Path) -> Config:
    """Return the settings of a file; ConfigError names the file and all that is wrong with it."""
    try:
        data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        return Config.model_validate(data if data is not None else {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    except ValidationError as error:
        rows = ["{}: {}".format(".".join(map(str, e["loc"])) or "file", e["msg"]) for e in error.errors()]
        raise ConfigError("\n".join(f"{path}: {row}" for row in rows)) from error
