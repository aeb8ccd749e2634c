"""The settings of the scheduler's program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from ava.db.url import DatabaseUrl
from ava.kube.election import Election, Label
from ava.settings import Address, Strict

Seconds = Annotated[float, Field(gt=0, le=3600)]


class Lease(Election):
    """Which of several schedulers acts; ``namespace`` must exist."""

    namespace: Label = "ava-system"
    name: Label = "ava-scheduler"


class Rights(Strict):
    """Which role is bound to whom in groups' namespaces (rights.py).

    Attributes:
        role: a ClusterRole.
        account: the operator's service account, in ``namespace``.
    """

    role: str = "ava:operator-group"
    account: str = "operator"
    namespace: Label = "ava-system"


class Config(Strict):
    """All settings.

    Attributes:
        kubeconfig: None: the service account of the pod that this runs in.
        cluster: name of the Kubernetes that it places in, as runs name it.
        identity: for people; None: the machine's name.
        listen: address and port of health and metrics.
        rights: None: the operator has its rights by other ways.
        binds: at most so many at once; more of them share a write of etcd (8 took 14 % more CPU in all than 32).
        poll: seconds after which the database is looked at when nothing was reported.
        tell: a waiting pod's reasons are written again after so many seconds at the earliest.
        writes_per_second: of such reasons, of all pods together.
        sign: seconds between heartbeats.
    """

    database: DatabaseUrl = DatabaseUrl()
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
