"""By which names the pods of one run find each other, and the files that say so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ava.domain import labels, mpi
from ava.domain.spec import Distributed, Role, Spec

FOLDER = mpi.HOSTS
"""Where a run's host lists are in its pods."""
SSH_PORT = 2222
"""sshd runs as the user, who cannot have port 22."""
LAUNCHER = "launcher"


@dataclass(frozen=True, slots=True)
class Member:
    """One pod of a run.

    Attributes:
        role, index: its place.
        pod: its name, which is also its host name.
        host: the name that the run's other pods find it by.
        slots: processes that MPI starts on it: its GPUs, or one.
    """

    role: str
    index: int
    pod: str
    host: str
    slots: int


def service(run: str, attempt: int) -> str:
    """Return the name of the headless service of a run's attempt. 1.9 wants a letter in front, which an id need not have."""
    return f"run-{run}-{attempt}"


def members(
    spec: Spec, run: str, attempt: int, namespace: str, domain: str = "cluster.local"
) -> tuple[Member, ...]:
    """Return all pods of a run's attempt in the order of the roles, then by index."""
    below = f"{service(run, attempt)}.{namespace}.svc.{domain}"
    return tuple(
        Member(role.name, index, name, f"{name}.{below}", max(1, role.each.gpu))
        for role in spec.roles
        for index in range(role.replicas)
        for name in [labels.pod(run, attempt, role.name, index)]
    )


def launcher(spec: Spec) -> Role:
    """Return the role that starts an MPI job: the one of that name, else the first."""
    return next((role for role in spec.roles if role.name == LAUNCHER), spec.roles[0])


def mpi_hosts(spec: Spec, all_members: Sequence[Member]) -> tuple[Member, ...]:
    """Return the pods that MPI starts processes on: all but the launcher's; all where there is no other role."""
    others = tuple(m for m in all_members if m.role != launcher(spec).name)
    return others or tuple(all_members)


def files(spec: Spec, all_members: Sequence[Member]) -> dict[str, str]:
    """Return the host lists by file name.

    ``hosts``: one host a line; ``hosts.ROLE``: those of a role; ``hostfile`` (MPI): ``HOST slots=N`` as Open MPI reads it.
    """
    found = {"hosts": _lines(m.host for m in all_members)}
    for role in spec.roles:
        found[f"hosts.{role.name}"] = _lines(m.host for m in all_members if m.role == role.name)
    if spec.distributed is Distributed.MPI:
        hosts = mpi_hosts(spec, all_members)
        found["hostfile"] = _lines(f"{m.host} slots={m.slots}" for m in hosts)
    return found


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
