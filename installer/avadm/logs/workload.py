"""The log of a workload: live, and after its pods are gone (U4).

The stores keep a container's lines under the names that its pod had, so that nothing of the pod has to be there any more.
A workload is named by its namespace and its pods; who knows labels only, and no names, asks Kubernetes for the pods while
they are there and keeps the names: the lines carry no labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from avadm.logs.client import Answer, Client
from avadm.logs.query import Line, Query
from avadm.logs.transport import HttpStore

LIMIT = 5000


@dataclass(frozen=True, slots=True)
class Workload:
    """Whose log is wanted.

    Attributes:
        namespace: of its pods; always wanted, since pods of other namespaces may have the same names.
        pods: exact names, or one beginning with ``*`` at its end (``train-17-*``).
        container: one container's name; "" for all.
        since, until: its life, seconds since 1970; None for as long as lines are kept. A name may be used again: with
            the times of this run no one else's lines are in it.
    """

    namespace: str
    pods: tuple[str, ...]
    container: str = ""
    since: float | None = None
    until: float | None = None

    def query(self, severity: str = "", grep: str = "") -> Query:
        """Return what the stores are asked.

        Raises:
            ValueError: there is no namespace or no pod, or one of several is no exact name.
        """
        if not self.namespace or not self.pods or not all(self.pods):
            raise ValueError("a workload has a namespace and at least one pod")
        one = self.pods[0] if len(self.pods) == 1 else ""
        return Query(
            component="pod",
            namespace=self.namespace,
            pod=one,
            pods=() if one else self._exact(),
            container=self.container,
            severity=severity,
            grep=grep,
            since=self.since,
            until=self.until,
        )

    def _exact(self) -> tuple[str, ...]:
        if any("*" in pod for pod in self.pods):
            raise ValueError("of several pods each has its exact name")
        return self.pods


@dataclass(frozen=True, slots=True)
class WorkloadLogs:
    """Reads workloads' logs.

    Attributes:
        client: of the site's stores.
    """

    client: Client

    @classmethod
    def over_https(cls, urls: Sequence[str], user: str, password: str, authority: str) -> WorkloadLogs:
        """Return a reader for a program that reaches the stores over the network.

        Args:
            urls: ``https://ADDRESS:PORT`` of each store.
            user: name that they want.
            password: password that they want.
            authority: certificate of their authority, PEM.
        """
        return cls(Client([HttpStore(url, url, user, password, authority) for url in urls]))

    def read(self, workload: Workload, limit: int = LIMIT, severity: str = "", grep: str = "") -> Answer:
        """Return the newest lines, oldest first, whether the pods are there or gone.

        Raises:
            avadm.logs.client.NoStore: no store answers.
            ValueError: the workload's names are none.
        """
        return self.client.search(workload.query(severity, grep), limit)

    def follow(
        self,
        workload: Workload,
        *,
        backlog: int = 100,
        until: Callable[[], bool] = lambda: False,
        on_silent: Callable[[dict[str, str]], None] = lambda silent: None,
    ) -> Iterator[Line]:
        """Yield lines as they come; see `Client.follow`. ``until`` is asked once a second: is the workload over?"""
        return self.client.follow(workload.query(), backlog=backlog, until=until, on_silent=on_silent)
