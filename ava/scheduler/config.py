"""The settings of the scheduler's program: one YAML file; secrets are named by the files that hold them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ava.store.address import Database

Address = Annotated[str, Field(pattern=r"^\[?[0-9A-Za-z.:-]*\]?:[0-9]{1,5}$")]
Label = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
Seconds = Annotated[float, Field(gt=0, le=3600)]


class ConfigError(Exception):
    """The settings cannot be used; the text names every error."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Lease(_Strict):
    """Who of several schedulers acts (ava.kube.leader); ``namespace`` must exist."""

    namespace: Label = "ava-system"
    name: Label = "ava-scheduler"
    length: Seconds = 15.0
    margin: Seconds = 5.0
    every: Seconds = 2.0

    @model_validator(mode="after")
    def _in_order(self) -> Lease:
        if not self.every < self.length - self.margin < self.length:
            raise ValueError("wanted every < length - margin")
        return self


class Rights(_Strict):
    """Which role is bound to whom in groups' namespaces (rights.py).

    Attributes:
        role: a ClusterRole.
        account: the operator's service account, in ``namespace``.
    """

    role: str = "ava:operator-group"
    account: str = "operator"
    namespace: Label = "ava-system"


class Config(_Strict):
    """All settings.

    Attributes:
        kubeconfig: None: the service account of the pod that this runs in.
        cluster: name of the Kubernetes that it places in, as runs name it.
        identity: for people; None: the machine's name.
        listen: address and port of health and metrics.
        rights: None: the operator has its rights by other ways.
        binds: at most so many at once; more of them share a write of etcd (8 took 14 % more CPU in all than 32).
        poll: seconds after which the ledger is looked at when nothing was told.
        tell: a waiting pod's reasons are written again after so many seconds at the earliest.
        writes_per_second: of such reasons, of all pods together.
        sign: seconds between signs of life.
    """

    database: Database = Database()
    kubeconfig: Path | None = None
    cluster: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9._]{0,198}[a-z0-9])?$")] = "default"
    identity: str | None = None
    lease: Lease = Lease()
    rights: Rights | None = None
    listen: Address = "127.0.0.1:10261"
    binds: Annotated[int, Field(ge=1, le=64)] = 32
    poll: Seconds = 2.0
    tell: Seconds = 30.0
    writes_per_second: Annotated[float, Field(gt=0, le=1000)] = 10.0
    sign: Seconds = 5.0


def load(path: Path) -> Config:
    """Return the settings of a file; ConfigError names the file and all that is wrong with it."""
    try:
        data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except yaml.YAMLError:
        raise ConfigError(f"{path}: not YAML") from None
    try:
        return Config.model_validate(data if data is not None else {})
    except ValidationError as error:
        rows = ["{}: {}".format(".".join(map(str, e["loc"])) or "file", e["msg"]) for e in error.errors()]
        raise ConfigError("\n".join(f"{path}: {row}" for row in rows)) from None
