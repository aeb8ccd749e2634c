"""The settings of the storage's program."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ava.db.url import DatabaseUrl
from ava.kube import election
from ava.settings import Address, Strict

Seconds = Annotated[float, Field(gt=0, le=86400)]
Names = tuple[election.Label, ...]


class Election(election.Election):
    """Which of several processes makes folders; all of them take and show files."""

    namespace: election.Label = "ava-system"
    name: election.Label = "ava-storage"


class Config(Strict):
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
        poll: seconds after which the database is looked at although it has reported nothing.
        scratch: folder for sorted lists of large folders; empty at the start.
        snapshots: whether nodes mount block images, so that data sets may be snapshots of some.
        cache_services: Services of Alluxio's masters, which report how much of data sets it holds; in the election's namespace.
        upload_days: an abandoned upload is removed after so many days.
    """

    database: DatabaseUrl = DatabaseUrl()
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
    snapshots: bool = False
    cache_services: Names = ()
    upload_days: Annotated[float, Field(gt=0, le=365)] = 7
