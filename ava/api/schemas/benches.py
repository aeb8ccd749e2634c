"""Workbenches."""

from __future__ import annotations

from ava.api.schemas.common import Answer


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
    """

    id: str
    name: str
    owner: str
    run: str | None
    state: str
    reason: str
    url: str
    ssh: SshOut | None
