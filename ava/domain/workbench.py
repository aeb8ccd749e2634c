"""What a workbench keeps over its runs, how its pod is found and asked, and the files that make it one."""

from __future__ import annotations

from datetime import datetime

from ava.domain.compat import dataclass
from ava.domain.model import PodState, Run, User

JUPYTER_PORT = 8888
SSH_PORT = 2222
"""sshd runs as the user, who cannot have port 22."""
PORTS = JUPYTER_PORT, SSH_PORT


@dataclass(frozen=True, slots=True)
class Workbench:
    """What is made once for a workbench's definition, and kept over all its runs.

    Attributes:
        definition: its id.
        host_key: private host key of its sshd, sealed.
        host_public: the public part, as known_hosts has it (kind and base64).
        token: what Jupyter wants of who asks it, sealed; known to the gateway only.
        active: when its user was last seen at work in it.
        warned: when its user was last notified that it would be stopped.
    """

    definition: str
    host_key: str
    host_public: str
    token: str
    created: datetime
    active: datetime | None = None
    warned: datetime | None = None


@dataclass(frozen=True, slots=True)
class AccessState:
    """What the database knows when somebody asks for a workbench.

    Attributes:
        user: whose session it is; None: unknown, or it has ended.
        owner: the name of whose workbench it is; None: there is none of this id.
        run: the run that is admitted and not asked to stop.
        bench: None before the first run.
        pods: what was last seen of the run's pods.
    """

    user: User | None
    owner: str | None
    run: Run | None
    bench: Workbench | None
    pods: tuple[PodState, ...]

    def address(self) -> str:
        """Return where the run's pod is, empty while it does not run."""
        if self.run is None:
            return ""
        mine = (p for p in self.pods if p.attempt == self.run.attempt and p.phase == "Running")
        return next((p.address for p in mine if p.address), "")


def host(definition: str, below: str) -> str:
    """Return the name of a workbench's own origin: what it shows can touch neither the site's nor another one's cookies."""
    return f"{definition}.{below}"


def service(definition: str) -> str:
    """Return the name of a workbench's Service, by which the ssh gateway finds it."""
    return f"wb-{definition}"
