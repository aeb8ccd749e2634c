"""The operator's settings."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator

from ava.db.url import DatabaseUrl
from ava.kube import election
from ava.operator.manifests.group_namespace import EgressRule
from ava.operator.manifests.model_service import ServiceFrontend
from ava.operator.manifests.pod import PodDefaults
from ava.settings import Strict

Seconds = Annotated[float, Field(gt=0, le=86400)]
Port = Annotated[int, Field(ge=1, le=65535)]


class Pods(Strict):
    """What a site chooses for all pods (domain/pods.py says what each is).

    Attributes:
        git_known_hosts: host keys of servers of code.
        git_ca: certificates of authorities that they may have beside the public ones, PEM.
    """

    init: Annotated[str, Field(pattern=r"^/[^\s]+$")] = "/usr/lib/ava/init"
    init_args: tuple[str, ...] = ("-s", "-g", "--")
    grace: Annotated[int, Field(ge=1, le=3600)] = 30
    seccomp: str = "docker/default"
    git_image: str = ""
    git_known_hosts: Path | None = None
    git_ca: Path | None = None
    domain: str = "cluster.local"
    pull_secret: str = ""
    pull_policy: str = "IfNotPresent"
    mount: Annotated[str, Field(pattern=r"^(/[^\s]+)?$")] = ""
    cache: Annotated[str, Field(pattern=r"^(/[^\s]+)?$")] = ""
    """Where nodes have Alluxio; empty: nowhere."""
    restarts: Annotated[int, Field(ge=0, le=1000)] = 20
    """How often one place's pod is replaced within an attempt."""

    def site(self) -> PodDefaults:
        """Return it as the domain has it."""
        chosen = self.model_dump(exclude={"git_known_hosts", "git_ca", "cache", "restarts"})
        return PodDefaults(**chosen)


class Open(Strict):
    """Addresses that pods may reach."""

    cidr: str
    but: tuple[str, ...] = ()
    ports: tuple[Port, ...] = ()
    udp: tuple[Port, ...] = ()

    @field_validator("cidr")
    @classmethod
    def _network(cls, value: str) -> str:
        return str(ip_network(value))

    def rule(self) -> EgressRule:
        """Return it as the domain has it."""
        return EgressRule(self.cidr, self.but, self.ports, self.udp)


class Network(Strict):
    """What tenants' pods may reach and be reached by.

    Attributes:
        dns: addresses of the cluster's DNS servers.
        openings: the registry, the data paths.
        git: servers of code, for pods whose code is cloned alone.
        scrapers: peers from which Prometheus comes to services that have metrics.
        web: peers of a NetworkPolicy from which the ingress comes.
        doors: peers from which the gate and the ssh gateway come to workbenches.
    """

    dns: tuple[str, ...] = ()
    openings: tuple[Open, ...] = ()
    git: tuple[Open, ...] = ()
    scrapers: tuple[dict[str, Any], ...] = ()
    web: tuple[dict[str, Any], ...] = ()
    doors: tuple[dict[str, Any], ...] = ()

    def rules(self) -> list[EgressRule]:
        """Return what all pods may reach."""
        names = [EgressRule(str(ip_network(address)), ports=(53,), udp=(53,)) for address in self.dns]
        return names + [o.rule() for o in self.openings]

    def code(self) -> list[EgressRule]:
        """Return what pods may reach whose code is cloned."""
        return [o.rule() for o in self.git]


class Services(Strict):
    """How requests reach services (domain/serving_pods.py), and how many there are.

    Attributes:
        ingresses: URLs of the metrics of all ingress controllers.
    """

    domain: Annotated[str, Field(pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$", max_length=190)] = ""
    notes: dict[str, str] = Field(default_factory=dict)
    middlewares: dict[str, str] = Field(default_factory=dict)
    ingresses: tuple[Annotated[str, Field(pattern=r"^https?://[^\s]+$")], ...] = ()

    def front(self) -> ServiceFrontend:
        """Return it as the domain has it."""
        return ServiceFrontend(self.domain, self.notes, self.middlewares)


class Times(Strict):
    """Seconds.

    Attributes:
        reconcile: between two passes over all runs.
        alive: between two heartbeats.
        image_wait: after so long without its image or a volume a pod has failed.
        start_wait: after so long in which its container could not be made or started a pod has failed.
        pod_backoff: before a place's pod is replaced for the second time; twice as long each further time.
        drain: for so long a service's replica that goes still answers what the ingress sends it.
        orphan: what belongs to no active run goes after so long.
        stuck: a pod that is still there so long after its grace is reported.
        dead_node: a node that has not answered for so long is dead: its pods are lost, and forgotten without its kubelet.
            0: never.
        force: a pod stuck for so long on a living node is forgotten too (its container may still run). 0: never.
    """

    reconcile: Seconds = 60
    alive: Seconds = 10
    image_wait: Seconds = 600
    start_wait: Seconds = 300
    pod_backoff: Seconds = 10
    drain: Seconds = 10
    orphan: Seconds = 60
    stuck: Seconds = 30
    dead_node: Annotated[float, Field(ge=0, le=86400)] = 120
    force: Annotated[float, Field(ge=0, le=86400)] = 0


class Election(election.Election):
    """Which of several operators acts."""

    name: election.Label = "ava-operator"


class Webhook(Strict):
    """Where notices are posted as JSON; signed by HMAC-SHA256 in ``X-AVA-Signature`` with the secret in the file."""

    url: Annotated[str, Field(pattern=r"^https?://[^\s]+$")]
    secret_file: Path | None = None
    ca: Path | None = None


class Mail(Strict):
    """The SMTP server that takes notices; ``tls``: ``none``, ``starttls`` or ``tls``."""

    host: str
    port: Port = 25
    sender: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$")]
    tls: Annotated[str, Field(pattern=r"^(none|starttls|tls)$")] = "starttls"
    ca: Path | None = None
    user: str | None = None
    passfile: Path | None = None


class Notices(Strict):
    """Where users hear of their runs. One cluster's operator sends all of them."""

    webhook: Webhook | None = None
    mail: Mail | None = None


class Config(Strict):
    """All settings of one operator process, which serves one cluster.

    Attributes:
        cluster: its name; runs with ``cluster`` of this name are its own.
        kubeconfig: None: the pod's service account.
        namespace: where the lease is.
        listen, port: of metrics and health.
        sealing_keys: the API's file of Fernet keys, for deploy keys.
    """

    cluster: str = "default"
    database: DatabaseUrl = DatabaseUrl()
    kubeconfig: Path | None = None
    namespace: str = "ava-system"
    listen: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 9470
    election: Election = Election()
    pods: Pods = Pods()
    network: Network = Network()
    services: Services = Services()
    times: Times = Times()
    notices: Notices | None = None
    sealing_keys: Path | None = None
    workers: Annotated[int, Field(ge=1, le=64)] = 8
