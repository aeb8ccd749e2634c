"""The running lab: its nodes, and commands on them over ssh with the pinned host keys."""

import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import testinfra

from avadm.cli.main import App
from avadm.site.load import load
from tests.lab.faults.planting import sweep
from tests.lab.second_apply import second_run  # noqa: F401  a fixture

BESIDE = frozenset({"ava", "kubernetes"})
"""Folders whose tests take nothing of the site's own (its lock, a run): in a pass over the core they run beside the others."""


def pytest_collection_modifyitems(items):
    """Run first what must see the lab as it was installed: the doctor also reads what planted faults leave in journals."""
    here = Path(__file__).parent
    for item in (item for item in items if item.path.is_relative_to(here)):
        folder = item.path.relative_to(here).parts[0]
        item.add_marker(pytest.mark.xdist_group(folder if folder in BESIDE else "site"))
        marks = {mark.name for mark in item.iter_markers()}
        if "lab" not in marks or {"core", "slow"} <= marks:
            raise pytest.UsageError(f"{item.nodeid}: wanted: the marker lab, and not both core and slow")
    items.sort(key=lambda item: item.get_closest_marker("first") is None)


def pytest_sessionfinish(session):
    """Fail a pass over the core in which something was skipped: its lab lacks a part, which then was not looked at."""
    shown = session.config.pluginmanager.get_plugin("terminalreporter")
    # A process of xdist shows nothing; the one that began it does.
    core = shown and session.config.option.markexpr.partition(" ")[0] == "core"
    if core and (skipped := shown.stats.get("skipped", [])):
        shown.write_line(f"\nskipped, and so not tested: {', '.join(one.nodeid for one in skipped)}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@dataclass(frozen=True)
class Lab:
    """The lab as `avadm lab list --json` tells it."""

    nodes: list
    hosts: dict = field(default_factory=dict)

    @property
    def site_path(self):
        """The lab's site file."""
        named = os.environ.get("AVADM_SITE")
        return App(Path(named) if named else None).resolved_site

    def names(self, role):
        """Return the names of the nodes with a role."""
        return [n["name"] for n in self.nodes if role in n["roles"]]

    def node(self, name):
        """Return one node."""
        return next(n for n in self.nodes if n["name"] == name)

    def argv(self, name):
        """Return the ssh command that runs what follows it on a node."""
        node = self.node(name)
        ssh, known = node["ssh"], Path(node["ssh"]["key"]).with_name("known_hosts")
        options = {
            "BatchMode": "yes",
            "StrictHostKeyChecking": "yes",
            "UserKnownHostsFile": known,
            "IdentitiesOnly": "yes",
        }
        argv = ["ssh", "-i", ssh["key"], "-p", str(ssh["port"])]
        argv += [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
        return [*argv, f"{ssh['user']}@{node['address']}"]

    def host(self, name):
        """Return a node as testinfra sees it: its files, services, packages and sockets."""
        if name not in self.hosts:
            *options, login = self.argv(name)[1:]
            self.hosts[name] = testinfra.get_host(f"ssh://{login}", ssh_extra_args=shlex.join(options))
        return self.hosts[name]

    def run(self, name, command, timeout=120):
        """Run a shell command on a node; return the CompletedProcess with text output."""
        return subprocess.run(
            [*self.argv(name), command], capture_output=True, text=True, timeout=timeout, check=False
        )

    def sh(self, name, command, timeout=120):
        """Run a shell command on a node and return its output; a failure fails the test."""
        done = self.run(name, command, timeout)
        assert done.returncode == 0, f"{name}: `{command}` exited {done.returncode}: {done.stderr}"
        return done.stdout


def seen():
    """Return the lab as it is now, with machines that are no nodes of the site."""
    avadm = Path(sys.executable).parent / "avadm"
    listed = subprocess.run([avadm, "lab", "list", "--json"], capture_output=True, text=True, check=True)
    return Lab(json.loads(listed.stdout)["nodes"])


@pytest.fixture(scope="session")
def lab():
    """The running lab, without machines that another test took out of the site; without a lab the test is an error."""
    found = seen()
    of_site = {node.name for node in load(found.site_path).site.nodes}
    found = Lab([node for node in found.nodes if node["name"] in of_site])
    for line in sweep(found):
        print(f"left by a test that was killed: {line}", file=sys.stderr)
    return found


@dataclass
class Tried:
    """One planted fault: ``came`` is what was seen, filled in by the test."""

    part: str
    planted: str
    wanted: str
    came: str = ""


@pytest.fixture
def tried(record_property):
    """Return a function that notes what a test plants; the JUnit file has it, for `scripts/generate faults`."""
    rows = []

    def note(part, planted, wanted):
        rows.append(Tried(part, planted, wanted))
        return rows[-1]

    yield note
    for row in rows:
        record_property("fault", json.dumps(vars(row)))
