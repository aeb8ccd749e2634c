"""What a workbench, a training or a service is to be: the document that users write (YAML or JSON)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ava.domain.compat import StrEnum
from ava.domain.resources import Resources

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9._]{0,198}[a-z0-9])?$")]
"""Names may have 200 characters; what Kubernetes names after them is shortened (labels.py)."""
Image = Annotated[
    str, StringConstraints(min_length=1, max_length=500, pattern=r"^[A-Za-z0-9][A-Za-z0-9._/:@-]*$")
]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]
Text = Annotated[str, StringConstraints(max_length=4096)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Policy(StrEnum):
    """What happens when a pod of a role fails (U9)."""

    RESTART_POD = "restart-pod"
    RESTART_RUN = "restart-run"
    ABORT = "abort"
    """The run ends as aborted; its logs and pods' states are kept."""
    DELETE = "delete"
    """The run ends as aborted and its pods are removed at once, without the time to say good-bye."""


class Amount(_Strict):
    """What one pod asks for.

    Attributes:
        gpu: whole cards, or slots where the pool shares cards.
        cpu: thousandths of a core.
        memory: bytes.
        cpu_limit: at most the request times the pool's ratio; the request where left out.
        memory_limit: the same.
    """

    gpu: Annotated[int, Field(ge=0, le=1024)] = 0
    cpu: Annotated[int, Field(ge=10, le=1_024_000)] = 1000
    memory: Annotated[int, Field(ge=2**24, le=2**46)] = 2**30
    cpu_limit: Annotated[int, Field(ge=10, le=1_024_000)] | None = None
    memory_limit: Annotated[int, Field(ge=2**24, le=2**46)] | None = None

    def resources(self) -> Resources:
        """Return what it is charged for."""
        return Resources(self.gpu, self.cpu, self.memory)


class Git(_Strict):
    """Where a training's code is cloned from, at exactly one commit."""

    url: Annotated[str, StringConstraints(max_length=2000, pattern=r"^(https://|ssh://|git@)[^\s]+$")]
    commit: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{7,64}$")]
    key: Annotated[str, StringConstraints(max_length=100)] | None = None
    """Name of the deploy key that the user stored."""


class DataSet(_Strict):
    """A data set that the pods see below /data/NAME."""

    name: Name
    write: bool = False
    """One writer or many readers, enforced by the database (U8)."""


class Role(_Strict):
    """Pods of one part of a run. A training of one pod has one role ``worker`` of one."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z]([-a-z0-9]{0,18}[a-z0-9])?$")] = "worker"
    replicas: Annotated[int, Field(ge=1, le=512)] = 1
    each: Amount = Amount()
    command: Annotated[tuple[Text, ...], Field(max_length=256)] | None = None
    """None: the run's."""
    policy: Policy = Policy.RESTART_RUN
    ends_run: bool = False
    """Whether the run has succeeded when all pods of this role have (MPI launcher, chief). Where no role says so, all roles
    but ``ps`` and, with ``distributed: tensorflow``, ``evaluator`` have to end."""


class Distributed(StrEnum):
    """Which files and variables the platform writes for the pods."""

    NONE = "none"
    TENSORFLOW = "tensorflow"
    """TF_CONFIG with cluster, type and index; hosts below /etc/ava."""
    MPI = "mpi"
    """Host list for mpirun and ssh trust between the run's pods."""


class Scaling(_Strict):
    """Bounds of a service's replicas.

    Attributes:
        requests: a second that one replica is meant to answer, as the ingress counts them; more make further replicas.
            None: only by hand.
    """

    least: Annotated[int, Field(ge=1, le=512)] = 1
    most: Annotated[int, Field(ge=1, le=512)] = 1
    requests: Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)] | None = None


class Access(StrEnum):
    """Who may call a service."""

    GROUP = "group"
    """Members of the run's group, by a token of theirs."""
    PUBLIC = "public"
    """Any client that reaches the ingress."""


class Serving(_Strict):
    """What only a service has.

    Attributes:
        model: path of what it serves, given to the command as ``AVA_MODEL``.
        health: path that answers 2xx or 3xx when it can serve; asked for both readiness and life.
        metrics: path that Prometheus scrapes.
        starts_in: seconds that a replica may take to be ready for the first time.
        scaling: None: as many as the role says, or as it is scaled by hand.
    """

    model: Annotated[str, StringConstraints(max_length=500)]
    port: Annotated[int, Field(ge=1024, le=65535)] = 8080
    health: Annotated[str, StringConstraints(pattern=r"^/[!-~]*$", max_length=200)] = "/"
    metrics: Annotated[str, StringConstraints(pattern=r"^/[!-~]*$", max_length=200)] | None = None
    starts_in: Annotated[int, Field(ge=5, le=3600)] = 120
    access: Access = Access.GROUP
    scaling: Scaling | None = None


class Spec(_Strict):
    """A definition. ``roles`` may be left out for one pod."""

    kind: Literal["workbench", "training", "service"] = "training"
    image: Image
    command: Annotated[tuple[Text, ...], Field(max_length=256)] = ()
    env: dict[Variable, Text] = Field(default_factory=dict, max_length=200)
    roles: Annotated[tuple[Role, ...], Field(min_length=1, max_length=10)] = (Role(),)
    distributed: Distributed = Distributed.NONE
    chief: bool = True
    """TF_CONFIG of roles ``ps`` and ``worker`` without ``chief``: True makes worker 0 the chief and renumbers the other workers
    from 0, as tf.estimator requires; False leaves all workers as they are."""
    git: Git | None = None
    data_sets: Annotated[tuple[DataSet, ...], Field(max_length=50)] = ()
    gpu_model: (
        Annotated[
            str, StringConstraints(max_length=63, pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$")
        ]
        | None
    ) = None
    node: (
        Annotated[str, StringConstraints(max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")] | None
    ) = None
    cluster: Name = "default"
    """``any``: the platform chooses where it fits first."""
    queue: Name = "default"
    priority: Annotated[int, Field(ge=0, le=100)] = 50
    retries: Annotated[int, Field(ge=0, le=20)] = 0
    """How often the whole run is started again."""
    after: Annotated[tuple[Name, ...], Field(max_length=20)] = ()
    """What has to succeed first: ids of runs, or names of own trainings (then the newest run of each)."""
    time_limit: Annotated[int, Field(ge=1, le=366 * 86400)] | None = None
    """Seconds from when all its pods have their nodes; the time that it waits for nodes does not count."""
    tensorboard: bool = False
    serving: Serving | None = None
    disk: Annotated[int, Field(ge=2**30, le=2**46, multiple_of=2**20)] | None = None
    """Bytes of the node's own disk that a workbench has at /disk over all its runs; it grows and never shrinks (disks.py)."""

    def asks(self) -> Resources:
        """Return what all its pods ask for together."""
        total = Resources()
        for role in self.roles:
            total = total.plus(role.each.resources().times(role.replicas))
        return total

    def pods(self) -> int:
        """Return how many pods it has."""
        return sum(role.replicas for role in self.roles)
