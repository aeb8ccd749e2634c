"""An AVA behind a real server on this machine, and what the operator would do to its runs."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from typing import Any

import uvicorn

from ava.domain.labels import pod
from ava.domain.model import Outcome, PodState
from tests.unit.ava.api.site import Site


class Served(Site):
    """A Site that listens on a port of 127.0.0.1."""

    def __init__(self, folder: Path, **more: Any) -> None:
        super().__init__(folder, **more)
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        config = uvicorn.Config(
            self.app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]}, daemon=True)
        self.thread.start()
        end = time.monotonic() + 30
        while not self.server.started and time.monotonic() < end:
            time.sleep(0.01)

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join(10)
        self.socket.close()
        super().close()

    def admit(self, run: str, phase: str = "Running", **more: Any) -> None:
        """Do what scheduler and operator do: charge the run, and see its one pod in a phase."""
        assert not self.db.runs.admit(run, self.now)
        if phase != "Pending":
            self.db.allocations.record(run, self.db.runs.get(run).asks, self.now, since=self.now)
        self.see(run, phase, **more)

    def see(self, run: str, phase: str = "Running", **more: Any) -> None:
        """See the run's one pod in a phase."""
        self.db.heartbeats.record("operator", self.now, {})
        state = PodState(run, pod(run, 0, "worker", 0), "worker", 0, 0, phase, **more)
        self.db.pods.record(run, [state], self.now)

    def finish(self, run: str, outcome: Outcome = Outcome.SUCCEEDED, reason: str = "") -> None:
        """End the run."""
        self.db.runs.finish(run, outcome, reason, self.now)
