"""make bench-controller: what a whole ``avadm apply`` costs the controller at so many hosts, over hollow nodes.

A hollow node is an address behind one real sshd, in a network of its own, with a real python in which each module that
arrives is answered (bench/answers) instead of being run. What the controller does is real: the phases, one after another, one
ansible-playbook each, inventory, templates, ssh, modules and what they import sent to each node, events, state, digests.
What a node does is skipped, and so are the lock on the nodes, fingerprints and the check of versions, each one round trip a
phase; and what only changes cause (nothing changes on a hollow node). With ``--grow`` the site then gets one node more, and
what an apply does for it is measured: the phases and nodes whose inputs that changes.

usage: bench/controller.py [--phases NAMES] [--grow] HOSTS...
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RUNS = ROOT / "runs" / "bench"
SUBNET = IPv4Network("10.88.0.0/16")
FIRST = 1024
"""Number of the first node's address in the subnet: below are the site's virtual addresses."""
FIXED = 4
"""Nodes that are there at any size: three of storage, a master."""
SAMPLE_S = 2.0
"""How often the controller's memory is looked at."""


def write_site(folder: Path, hosts: int) -> None:
    """Write a site of so many hosts as the lab's is, with keys and pins, into a folder."""
    for name in ("id_ed25519", "host_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    shutil.copy(folder / "id_ed25519.pub", folder / "authorized_keys")
    shutil.copytree(ROOT / "bench" / "answers", folder / "hollow")
    (folder / "hollow" / "site.json").write_text(write_nodes(folder, hosts), encoding="utf-8")
    options = {
        "ListenAddress": "0.0.0.0",  # noqa: S104 - in a network of its own, which has a loopback device alone
        "HostKey": "/run/hollow/host_key",
        "AuthorizedKeysFile": "/run/hollow/authorized_keys",
        "PermitRootLogin": "prohibit-password",
        "StrictModes": "no",
        "UsePAM": "no",
        "UseDNS": "no",
        "PidFile": "none",
        "MaxStartups": "1000",
        "SetEnv": "PYTHONPATH=/run/hollow/hollow",
    }
    (folder / "sshd_config").write_text("".join(f"{k} {v}\n" for k, v in options.items()), encoding="utf-8")


def write_nodes(folder: Path, hosts: int) -> str:
    """Write the site file and the nodes' pins; return what the hollow nodes answer with of the site, JSON."""
    from avadm.inventory.variables import variables
    from avadm.pki.store import KeyStore
    from avadm.remote.hostkeys import KnownHosts, parse_key
    from avadm.site.load import load
    from avadm_lab import layout, sitefile

    config = layout.Config(
        name="hollow", parts=("objects", "cache", "logs", "database", "ava"), subnet=SUBNET
    ).model_copy(update={"compute": hosts - FIXED})
    nodes = [
        dataclasses.replace(node, address=SUBNET[FIRST + i]) for i, node in enumerate(layout.nodes(config))
    ]
    public = (folder / "host_key.pub").read_text(encoding="utf-8").strip()
    text = sitefile.text(config, nodes, {}, "http://127.0.0.1:3142")
    (folder / "site.yml").write_text(text, encoding="utf-8")
    known = KnownHosts(folder / "known_hosts")
    for node in nodes:
        known.pin([node.name, str(node.address)], parse_key(" ".join(public.split()[:2])))
    known.save()
    site_file = load(folder / "site.yml")
    wanted = variables(site_file, KeyStore.open(site_file.path)).all["prometheus_targets"]
    about = {
        "names": {str(n.address): n.name for n in nodes},
        "targets": {job: sum(len(t["targets"]) for t in groups) for job, groups in wanted.items()},
    }
    return json.dumps(about)


@contextmanager
def hollow(folder: Path) -> Iterator[int]:
    """Have hollow nodes; yield the process whose network they are in."""
    argv = [
        "unshare",
        "--net",
        "--mount",
        "--pid",
        "--ipc",
        "--uts",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]
    argv += ["sh", str(ROOT / "bench" / "answers" / "boot.sh"), str(folder), str(SUBNET)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as room:
        try:
            if room.stdout is None or not room.stdout.readline().strip():
                raise SystemExit("hollow nodes cannot be made here (root, unshare, sshd?); see above")
            yield int(subprocess.check_output(["pgrep", "-P", str(room.pid)], text=True).split()[0])
        finally:
            if room.stdin:
                room.stdin.close()


def missing_artifacts(folder: Path, phases: Sequence[str]) -> list[str]:
    """Return what the phases of a site would fail for after minutes: artifacts that the cache has not, each with its remedy."""
    from avadm.artifacts.requirements import missing
    from avadm.engine.session import schedule
    from avadm.site.load import load
    from avadm.state.site_state import SiteState

    site_file = load(folder / "site.yml")
    site = site_file.site
    steps = schedule(site, SiteState.of(site_file.path, site.name), phases)
    found = missing(site, [step.phase for step in steps], versions=site_file.profile.versions)
    return [f"{one.what} {one.remedy}" for one in (lacking.finding() for lacking in found)]


def measured(folder: Path, hosts: int, phases: Sequence[str], grow: bool) -> dict[str, Any]:
    """Return what an apply over so many hollow nodes took, and one for one node more, JSON-ready."""
    write_site(folder, hosts)
    if lacking := missing_artifacts(folder, phases):
        shutil.rmtree(folder)
        raise SystemExit("\n".join(["The cache lacks what phases install:", *lacking]))
    with hollow(folder) as inside:
        argv = ["nsenter", f"--net=/proc/{inside}/ns/net", "nice", "-n", "10", sys.executable, __file__]
        argv += ["--inside", str(folder), *(["--phases", ",".join(phases)] if phases else [])]
        argv += ["--grow", "--room", str(inside), str(hosts)] if grow else []
        env = {
            **os.environ,
            "AVADM_RUNS": str(folder / "runs"),
            "AVADM_SITE": str(folder / "site.yml"),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "installer"), str(ROOT / "validation"), str(ROOT)]),
        }
        done = subprocess.run(argv, env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{hosts} hosts: exited {done.returncode}; {folder} is kept")
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {"hosts": hosts, **figures}


class Memory(threading.Thread):
    """Looks at the memory of this process with all its children (proportional set size), until it is stopped."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0
        self.over = threading.Event()

    def run(self) -> None:
        """Keep the largest sum, KiB."""
        while not self.over.wait(SAMPLE_S):
            self.most = max(self.most, sum(map(_pss, _family(os.getpid()))))


def _family(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            children = (task / "children").read_text().split()
        except OSError:
            continue
        for child in children:
            found += _family(int(child))
    return found


def _pss(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0)


def inside(folder: Path, phases: Sequence[str], grown: int, room: int) -> dict[str, Any]:
    """Apply everything over the hollow nodes, in their network, and again for a site of ``grown`` nodes; return the figures."""
    figures = applied(folder, phases)
    if grown:
        report = Path(f"/proc/{room}/root/run/hollow/hollow/site.json")
        report.write_text(write_nodes(folder, grown), encoding="utf-8")
        figures["one_more"] = applied(folder, phases, again=True)
    return figures


def applied(folder: Path, phases: Sequence[str], again: bool = False) -> dict[str, Any]:
    """Apply a site over the hollow nodes; ``again``: only what the state says is not done with the inputs of now."""
    from avadm.drift.detection import unasked
    from avadm.drift.report import remaining
    from avadm.engine.apply import Engine, Job
    from avadm.engine.peers import PeersFirst, Telling
    from avadm.engine.recorder import Recorder
    from avadm.engine.session import schedule
    from avadm.inventory.desired import Desired, Keyring
    from avadm.inventory.render import write
    from avadm.paths import home
    from avadm.remote.ansible import AnsibleRunner
    from avadm.remote.redact import Redactor
    from avadm.remote.ssh import SshFleet
    from avadm.site.load import load
    from avadm.state import bootstrap_marks
    from avadm.state.records import SiteRecords
    from avadm.state.run_folder import RunFolder

    memory, begun, cpu = Memory(), time.monotonic(), _cpu()
    memory.start()
    site_file = load(folder / "site.yml")
    run = RunFolder.create("apply")
    site = site_file.site
    records = SiteRecords.of(site_file.path, site.name)
    desired = Desired.make(site_file, Keyring.open(site_file.path))
    rendered = write(desired, run.inventory, bootstrap_marks.variables(records.state, site))
    started = _cpu() - cpu
    vault = desired.keyring.vault
    steps = schedule(site, records.state, phases)
    verdicts = unasked(desired, records.state, steps) if again else {}
    fleet = SshFleet(site_file)
    telling = Telling.of(desired, records.snapshots, fleet, steps, verdicts)
    if again:
        steps = remaining(steps, verdicts)
    job = Job(
        steps=steps,
        home=home(),
        inventory=rendered.folder,
        run=run.id,
        digest=lambda step, host: desired.digests.host(step.phase, host),
        vault=(vault.path, vault.password_file) if vault.path.exists() else None,
    )
    states: dict[str, str] = {}
    with Recorder(run) as recorder, fleet:
        # One after another: each phase at work has a python on each of its nodes, which are all on this machine.
        for step in steps:
            one = dataclasses.replace(job, steps=[dataclasses.replace(step, needs=())])
            runner = PeersFirst(AnsibleRunner(Redactor(vault.values())), telling)
            Engine(one, runner, records.state, recorder).run()
        summary = recorder.summary.as_dict()
        states = {e["phase"]: e["message"] for e in _events(run.path) if e["kind"] == "phase_end"}
    memory.over.set()
    counts: Counter[str] = Counter()
    for host in summary["hosts"].values():
        counts.update(host)
    bad = {e["phase"]: e for e in _events(run.path) if e["kind"] in ("failed", "unreachable")}
    return {
        "wall_s": round(time.monotonic() - begun, 1),
        "cpu_s": round(_cpu() - cpu, 1),
        "own_cpu_s": round(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]), 1),
        "prepared_cpu_s": round(started, 1),
        "memory_mib": memory.most // 1024,
        "tasks": counts["ok"] + counts["failed"] + counts["skipped"],
        "ran": counts["ok"] + counts["failed"],
        "hosts_of": {step.name: len(step.hosts) for step in steps},
        "failed": {
            step.name: f"{bad[step.name].get('host')}: {bad[step.name].get('task')}: {bad[step.name].get('message')}"[
                :400
            ]
            if step.name in bad
            else states.get(step.name, "not begun")
            for step in steps
            if step.name in bad or states.get(step.name) != "done"
        },
    }


def _events(path: Path) -> list[dict[str, Any]]:
    with (path / "events.jsonl").open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def _cpu() -> float:
    """Return CPU seconds of this process and of the children that it waited for; the nodes are no one's here."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def marginal(rows: Sequence[dict[str, Any]]) -> float:
    """Return CPU seconds of each further host and task between the smallest and the largest number of hosts; NaN for one."""
    least, most = min(rows, key=lambda r: r["hosts"]), max(rows, key=lambda r: r["hosts"])
    more = most["ran"] - least["ran"]
    return float((most["cpu_s"] - least["cpu_s"]) / more) if more else math.nan


def main() -> int:
    """Measure each number of hosts, print, store in runs/bench; exit status 1 where a phase failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("hosts", nargs="*", type=int, default=[])
    parser.add_argument("--phases", default="", help="only these, with commas between")
    parser.add_argument("--keep", action="store_true", help="keep the folder with the run's log")
    parser.add_argument("--grow", action="store_true", help="then apply for one node more")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--room", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    phases = [p for p in given.phases.split(",") if p]
    if given.inside:
        print(json.dumps(inside(given.inside, phases, given.hosts[0] + 1 if given.grow else 0, given.room)))
        return 0
    rows = []
    for hosts in given.hosts or [8, 64]:
        folder = Path(tempfile.mkdtemp(prefix="avadm-hollow-"))
        rows.append(measured(folder, hosts, phases, given.grow))
        print(json.dumps(rows[-1], indent=1), flush=True)
        if given.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    if len(rows) > 1:
        print(f"{1000 * marginal(rows):.1f} ms of the controller's CPU for each further host and task")
    RUNS.mkdir(parents=True, exist_ok=True)
    store = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-controller.json"
    store.write_text(json.dumps({"cores": os.cpu_count(), "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return int(any(one["failed"] for row in rows for one in (row, row.get("one_more", row))))


if __name__ == "__main__":
    sys.exit(main())
