"""Workbenches."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from ava.domain import disks
from ava.schemas.common import Answer, Request, Worded

DiskSize = Annotated[int, Field(ge=disks.LEAST, le=disks.MOST, multiple_of=disks.STEP)]


class DiskIn(Request):
    """How large a workbench's disk is to be, bytes."""

    size: DiskSize


class IdleIn(Request):
    """Whether a workbench is never stopped for being idle."""

    exempt: bool


class DiskOut(Answer):
    """A workbench's disk.

    Attributes:
        size: bytes that it has; 0: it is made with the first start.
        wanted: bytes that it is to have; more than ``size`` while it is made or grows.
        node: where it is, and so the workbench.
        trouble: why it is not as it should be; empty where nothing is in the way.
    """

    size: int
    wanted: int
    node: str
    trouble: Worded


class SshOut(Answer):
    """How ssh gets into a workbench.

    Attributes:
        host, port: as the gateway knows the workbench; no other machine does.
        user: in the workbench.
        host_key: the workbench's own, the same at each run; empty before the first one.
        jump_host, jump_port, jump_user, jump_host_key: the gateway.
    """

    host: str
    port: int
    user: str
    host_key: str
    jump_host: str
    jump_port: int
    jump_user: str
    jump_host_key: str


class WorkbenchOut(Answer):
    """A workbench: a definition with at most one run.

    Attributes:
        id: of the definition.
        run: its present run, or the last one; None before the first.
        state: the run's, as runs show it; ``new`` before the first.
        url: where JupyterLab is while it runs; empty where the site has no way in.
        ssh: None where the site has no ssh gateway.
        disk: None: it has none.
        idle_exempt: whether it is never stopped for being idle.
        idle_until: it is idle, and stopped then unless somebody works in it.
    """

    id: str
    name: str
    owner: str
    run: str | None
    state: str
    reason: Worded
    url: str
    ssh: SshOut | None
    disk: DiskOut | None = None
    idle_exempt: bool = False
    idle_until: datetime | None = None
