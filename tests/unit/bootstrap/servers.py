"""ssh servers on this machine with a home folder each, and a job that bootstraps them."""

import sys

from avadm.bootstrap.controller_key import ensure
from avadm.bootstrap.run import bootstrap
from avadm.bootstrap.task import BootstrapTask
from avadm.remote.connect import Target
from tests.unit.remote.sshserver import Server, new_key


class Servers:
    def __init__(self, folder):
        self.folder, self.servers = folder, {}

    def start(self, name, env, **options):
        """Start a server whose home is a folder that is there."""
        env = {**env, "HOME": str(self.folder / name)}
        self.servers[name] = Server(new_key(self.folder / f"{name}.host"), env=env, **options)
        return self.servers[name]

    def program(self, name, text):
        """Put a program before those that the servers have."""
        (self.folder / "bin").mkdir(exist_ok=True)
        (self.folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.folder / "bin" / name).chmod(0o755)

    def bootstrapped(self, confirm, password, user="root", interpreter=sys.executable, **options):
        """Bootstrap all servers; return the reports by node."""
        targets = [Target(n, "127.0.0.1", s.port, user) for n, s in self.servers.items()]
        known = self.folder / "known_hosts"
        key = ensure(self.folder / "id", "avadm@test")
        job = BootstrapTask(
            targets, key, known, interpreter, confirm=confirm, password=password, timeout=3, **options
        )
        return {r.node: r for r in bootstrap(job)}

    def close(self):
        for server in self.servers.values():
            server.close()
