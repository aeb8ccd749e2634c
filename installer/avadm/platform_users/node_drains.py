"""AVA's runs on nodes, by its API as an administrator: kube/node_runs.py's interface."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType

from ava.client import ApiError, Client
from avadm.errors import EXIT_COULD_NOT_RUN, AvadmError
from avadm.kube.node_runs import NodeRuns, Notice, Run
from avadm.platform_users import connect
from avadm.remote.fleet import Fleet
from avadm.site.load import SiteFile

RENEW_S = 1800.0
"""After so long another token is made: one ends within the hour, and a drain waits longer."""


class NodeDrains:
    """What runs on nodes, and having it leave. Connected at the first question; to be closed (``with``).

    Args:
        file: the site, which has AVA.
        fleet: ssh to its nodes.
        name: the administrator in whose name; None: the only one there is.
        clock: seconds.
    """

    def __init__(
        self, file: SiteFile, fleet: Fleet, name: str | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._file, self._fleet, self._name, self._clock = file, fleet, name, clock
        self._stack = ExitStack()
        self._client: Client | None = None
        self._since = 0.0

    def __enter__(self) -> NodeDrains:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def node(self, name: str) -> NodeRuns:
        """Return the runs on a node as last seen, oldest first, and until when it is drained."""
        with self._asked() as ava:
            found = ava.node(name)
        runs = [
            Run(
                id=run.id,
                kind=run.kind,
                name=run.name,
                owner=run.owner,
                group=run.group,
                namespace=run.namespace,
                since=run.started or run.admitted,
                leaves=run.leaves,
                stopping=run.stop is not None,
            )
            for run in found.runs
        ]
        return NodeRuns(runs, found.drain.until if found.drain is not None else None)

    def begin(self, node: str, notice: Notice) -> None:
        """Have the runs of a node leave it, their owners notified; the first notice stays."""
        with self._asked() as ava:
            ava.drain_node(node, notice=notice.seconds, stop_runs=notice.stop_runs)

    def withdraw(self, node: str) -> None:
        """Let the runs of a node stay."""
        with self._asked() as ava:
            ava.undrain_node(node)

    @contextmanager
    def _asked(self) -> Iterator[Client]:
        """Have a client whose token is good for a while; AvadmError for what the platform refuses."""
        if self._client is not None and self._clock() - self._since > RENEW_S:
            self.close()
        if self._client is None:
            way = connect.administrator(self._file, self._fleet, self._name)
            self._client, self._since = self._stack.enter_context(way).ava, self._clock()
        try:
            yield self._client
        except ApiError as refused:
            # The next question makes a connection of its own.
            self.close()
            raise AvadmError(connect.findings(refused), EXIT_COULD_NOT_RUN) from refused

    def close(self) -> None:
        """End the token; the next question makes another."""
        self._client = None
        self._stack.close()
