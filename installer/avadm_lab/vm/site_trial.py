"""A site of the profile debian-12 in machines that boot by themselves: bootstrap with its reboots, storage, Kubernetes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from avadm import paths
from avadm_lab.cacher import PORT, Cacher
from avadm_lab.process import LocalProc
from avadm_lab.vm import disk, fleet

MACHINES = (
    fleet.Machine("vm1", "10.79.251.11", ("VM1DISK1",)),
    fleet.Machine("vm2", "10.79.251.12", ("VM2DISK1",)),
)
ROLES = {
    "vm1": "mon, mgr, osd, mds, client, etcd, master",
    "vm2": "osd, mds, client, worker, dns, registry",
}
PHASES = (("base", "docker"), ("ceph",), ("etcd", "masters"), ("nodes",))
"""What is applied, one `avadm apply` each."""
BOOT_S = 1800


def text(allow_reboot: bool) -> str:
    """Return the site file: the smallest that `avadm site check` accepts with Kubernetes; disks are approved later."""
    nodes = "".join(
        f"  - {{name: {m.name}, address: {m.address}, roles: [{ROLES[m.name]}], devices: []}}\n"
        for m in MACHINES
    )
    return f"""version: 1
name: vm
profile: debian-12
boot: {{allow_reboot: {str(allow_reboot).lower()}}}
network: {{management: 10.79.251.0/24, domain: vm.test, api_vip: 10.79.251.250}}
ssh: {{user: {disk.LOGIN}}}
packages: {{proxy: "http://{fleet.GATEWAY}:{PORT}"}}
nodes:
{nodes}components:
  ceph:
    replicas: 2
    min_replicas: 1
    osd_memory_mib: 896
    mds_cache_mib: 64
    # Without KVM everything takes ten times as long.
    config: {{osd: {{osd_heartbeat_grace: 120}}}}
"""


class SiteTrial:
    """One run; what was seen, and the seconds of each step, are in ``result``.

    Args:
        folder: where the disk is kept.
        work: folder of this run, empty.
        say: called with the step that begins.
    """

    def __init__(self, folder: Path, work: Path, say: Callable[[str], None]) -> None:
        self.folder, self.work, self.say = folder, work, say
        self.seconds: dict[str, float] = {}
        self.seen: dict[str, dict[str, Any]] = {}

    @property
    def result(self) -> dict[str, Any]:
        """Return what was seen so far."""
        good = all(one["good"] for one in self.seen.values())
        return {"good": good, "seen": {"site": self.seen}, "seconds": self.seconds}

    def run(self) -> dict[str, Any]:
        """Do all of it, up to the first step that fails."""
        proc = LocalProc()
        start = time.monotonic()
        self.say("disk")
        home = disk.ensure(proc, self.folder)
        self.seconds["disk"] = round(time.monotonic() - start, 1)
        with fleet.running(proc, home / "disk.img", self.work, MACHINES):
            cacher = Cacher(proc, paths.cache() / "apt", "vm", IPv4Address(fleet.GATEWAY))
            cacher.ensure()
            try:
                self._steps()
            except RuntimeError as error:
                self.seen["stopped"] = {"good": False, "seen": str(error)}
            finally:
                cacher.stop()
        return self.result

    def _steps(self) -> None:
        start = time.monotonic()
        self.say("boot")
        for machine in MACHINES:
            fleet.answers(machine.address, BOOT_S)
        self.seconds["boot"] = round(time.monotonic() - start, 1)
        self._bootstrap()
        for machine in MACHINES:
            # The kernel does not know what is behind a virtual disk.
            words = ("disk", "approve", machine.name, *machine.serials, "--device-class", "ssd")
            self.avadm(f"disk approve {machine.name}", *words)
        self.avadm("site check", "site", "check")
        self.avadm("artifacts", "artifacts", "build")
        for phases in PHASES:
            self.avadm(f"apply {' '.join(phases)}", "apply", "-y", *phases)
        report = self.avadm("ceph status", "ssh", "vm1", "sudo ceph status --format json")
        osds = json.loads(report)["osdmap"]
        self.see("OSDs on LVM are up", [osds["num_osds"], osds["num_up_osds"]], [2, 2])
        nodes = json.loads(self.avadm("nodes", "kubectl", "get", "nodes", "-o", "json"))["items"]
        ready = sorted(
            node["metadata"]["name"].partition(".")[0]
            for node in nodes
            if any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"]["conditions"])
        )
        self.see("kubelet runs on cgroup v1", ready, sorted(m.name for m in MACHINES))

    def _bootstrap(self) -> None:
        names = sorted(m.name for m in MACHINES)
        words = ("bootstrap", "--json", "--timeout", "120")  # seconds; one login takes ten without KVM
        self._site(allow_reboot=False)
        # Unlike a first bootstrap this one may not reboot, so its warning and preflight's error can be seen.
        first = json.loads(self.avadm("bootstrap, no reboots", *words, "--accept-host-keys"))["findings"]
        warned = sorted(f["host"] for f in first if f["check"] == "bootstrap-boot")
        self.see("bootstrap warns of nodes that need a reboot", warned, names)
        self.see("preflight names cgroup v2", self._booted("preflight before"), names)
        self._site(allow_reboot=True)
        second = json.loads(self.avadm("bootstrap, reboots", *words))["nodes"]
        states = {name: node["steps"]["boot"]["state"] for name, node in second.items()}
        self.see("bootstrap reboots each node", states, dict.fromkeys(names, "changed"))
        self.see("preflight finds cgroup v1", self._booted("preflight after"), [])
        third = json.loads(self.avadm("bootstrap again", *words))["nodes"]
        states = {name: node["state"] for name, node in third.items()}
        self.see("bootstrap again changes nothing", states, dict.fromkeys(names, "ok"))

    def _site(self, *, allow_reboot: bool) -> None:
        (self.work / "site.yml").write_text(text(allow_reboot), encoding="utf-8")

    def _booted(self, step: str) -> list[str]:
        """Return the nodes of which preflight says that they are booted wrongly."""
        # The other checks ask for more than a machine without KVM answers in time.
        report = self.avadm(step, "preflight", "--json", "--only", "boot", good=(0, 1))
        return sorted(f["host"] for check in json.loads(report)["checks"] for f in check["findings"])

    def avadm(self, step: str, *words: str, good: Sequence[int] = (0,), timeout: float = 7200) -> str:
        """Run avadm and note how long it took; return what it printed.

        Raises:
            RuntimeError: it ended with another exit status than those of ``good``.
        """
        self.say(step)
        start = time.monotonic()
        env = {**os.environ, "AVADM_SSH_PASSWORD": disk.PASSWORD}
        argv = [str(Path(sys.executable).with_name("avadm")), "--site", "site.yml", *words]
        log = self.work / f"{len(self.seconds):02d}-{step.replace(' ', '-')}.log"
        done = subprocess.run(
            argv, cwd=self.work, env=env, capture_output=True, text=True, timeout=timeout, check=False
        )
        self.seconds[step] = round(time.monotonic() - start, 1)
        log.write_text(f"{done.stdout}\n{done.stderr}\nexit status {done.returncode}\n", encoding="utf-8")
        if done.returncode not in good:
            raise RuntimeError(f"{step}: exit status {done.returncode}: see {log}")
        return done.stdout

    def see(self, name: str, found: object, wanted: object) -> None:
        """Note whether something is as it must be."""
        self.seen[name] = {"good": found == wanted, "seen": found}
