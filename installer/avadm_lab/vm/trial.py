"""What is tried in the machine: the roles of ceph with LVM, krbd and the kernel's cephfs, then what they made, twice."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from avadm.artifacts import node_archives
from avadm.inventory.render import Inventory, render_inventory
from avadm.remote.ansible import PlaybookRun, ansible_playbook, environment
from avadm.site import profile as profiles
from avadm.site.load import SiteFile
from avadm.site.model import Site
from avadm.site.profile import Profile
from avadm_lab.process import CompletedCommand, Proc
from avadm_lab.vm import image, machine

HOME = Path(__file__).parents[3]
PLAYBOOKS = ("base", "ceph", "cephfs", "rbd")
STATED = ("ceph_osd_backend", "rbd_client", "rbd_map")
"""Features that are as in the stated profile; its cephfs client is fuse, and here the kernel's is to be seen."""
RULE = {"name": "replicated_osd", "failure_domain": "osd"}


def profile() -> Profile:
    """Return the lab's profile with what needs a kernel as the stated one has it."""
    stated, lab = profiles.load("stated"), profiles.load("lab-bookworm")
    features = lab.features | {name: stated.features[name] for name in STATED} | {"cephfs_client": "kernel"}
    return lab.model_copy(update={"features": features})


def site() -> Site:
    """Return a site of one machine; the rules over sites, which want places for copies, are not asked."""
    rules = dict.fromkeys(("ceph_rbd_rule", "ceph_fs_rule"), RULE)
    return Site.model_validate(
        {
            "name": "vm",
            "profile": "lab-bookworm",
            "network": {
                "management": f"{image.GATEWAY.rpartition('.')[0]}.0/{image.PREFIX}",
                "domain": "vm.test",
            },
            "ssh": {"user": "root", "key": "id_ed25519", "known_hosts": "known_hosts"},
            "nodes": [
                {
                    "name": "vm1",
                    "address": image.ADDRESS,
                    "roles": ["mon", "mgr", "osd", "mds", "client"],
                    # Of the roles that run here; the disk has them, and the machine has no way to a package source.
                    "vars": {"base_packages": image.of_roles(profile())},
                    "devices": [{"serial": serial} for serial in machine.DISKS],
                }
            ],
            "components": {
                "ceph": {
                    "osd_memory_mib": 896,
                    "mds_cache_mib": 64,
                    # One machine: copies lie on its two disks. Without KVM everything takes ten times as long.
                    "config": {
                        "global": {"osd_crush_chooseleaf_type": 0, "mon_allow_pool_size_one": True},
                        "mon": {"mon_data_avail_warn": 10},
                        "osd": {"osd_heartbeat_grace": 120},
                    },
                }
            },
            "extra_vars": {
                **rules,
                "ceph_common_health_tolerate": ["MDS_INSUFFICIENT_STANDBY", "SLOW_OPS", "MON_CLOCK_SKEW"],
                "ceph_common_health_timeout": 1800,
                "chrony_adjust_clock": False,
            },
        }
    )


def kernel_play() -> list[dict[str, Any]]:
    """Return a play with those tasks of the role kube_node that need a kernel of one's own."""
    import yaml

    tasks = yaml.safe_load((HOME / "roles/kube_node/tasks/main.yml").read_text(encoding="utf-8"))
    kinds = ("avadm_kernel_modules", "avadm_swap_off", "avadm_sysctl")
    variables = {
        name: value
        for part in ("defaults", "vars")
        for name, value in yaml.safe_load(
            (HOME / f"roles/kube_node/{part}/main.yml").read_text(encoding="utf-8")
        ).items()
    }
    names = ("kube_node_own_kernel", "kube_node_kernel_modules", "_kube_node_sysctl")
    own = {name: variables[name] for name in names}
    return [
        {
            "hosts": "all",
            "gather_facts": False,
            "vars": own,
            "tasks": [t for t in tasks if set(kinds) & set(t)],
        }
    ]


class Trial:
    """One run.

    Args:
        proc: runs commands on this machine.
        folder: where images are kept.
        work: folder of this run, empty.
        say: called with what begins.
    """

    def __init__(self, proc: Proc, folder: Path, work: Path, say: Callable[[str], None]) -> None:
        self.proc, self.folder, self.work, self.say = proc, folder, work, say
        self.seconds: dict[str, float] = {}

    def timed(self, name: str, job: Callable[[], Any]) -> Any:
        """Run a step and note how long it took."""
        self.say(name)
        start = time.monotonic()
        try:
            return job()
        finally:
            self.seconds[name] = round(time.monotonic() - start, 1)

    def play(self, rendered: Inventory, book: Path) -> CompletedCommand:
        """Run a playbook with the roles as they are."""
        # The engine's own way of running playbooks, so mitogen too: one start of Python for all tasks, not one for each.
        request = PlaybookRun(book.stem, book, rendered.folder, ())
        argv = [str(ansible_playbook()), *rendered.ansible_args(), str(book)]
        env = {**os.environ, **environment(request, ansible_playbook()), "ANSIBLE_TIMEOUT": "120"}
        env["ANSIBLE_DISPLAY_OK_HOSTS"] = "yes"
        done = self.proc.run(argv, timeout=3600, env=env)
        log = self.work / f"{book.stem}-{len(self.seconds)}.log"
        log.write_text(done.stdout + done.stderr, encoding="utf-8")
        return must_have(done, f"{book.name}: see {log}")

    def inside(self, home: Path, when: str) -> dict[str, Any]:
        """Try inside the machine what the roles have made."""
        done = image.do(
            self.proc,
            "Trying",
            machine.ssh(home, f"python3 /usr/local/lib/avadm-vm/inside.py {when}"),
            timeout=3600,
        )
        found: dict[str, Any] = json.loads(done.strip().splitlines()[-1])
        return found

    def run(self) -> dict[str, Any]:
        """Do all of it; return what was seen and how long each step took."""
        chosen = profile()
        home = self.timed("image", lambda: image.ensure(self.proc, self.folder, chosen))
        seen: dict[str, Any] = {}
        with machine.running(self.proc, home, self.work):
            boot = self.timed("boot", lambda: machine.reached(self.proc, home, self.work))
            site_file = SiteFile(home / "site.yml", site(), chosen)
            rendered = render_inventory(site_file, self.work / "inventory")
            for name in PLAYBOOKS:
                self.timed(name, partial(self.play, rendered, HOME / f"playbooks/{name}.yml"))
            book = self.work / "kernel.yml"
            book.write_text(json.dumps(kernel_play()), encoding="utf-8")
            self.timed("kernel", lambda: self.play(rendered, book))
            self.timed("programs", lambda: self.send(home))
            seen["before"] = self.timed("trials", lambda: self.inside(home, "before"))
            again = self.timed("ceph again", lambda: self.play(rendered, HOME / "playbooks/ceph.yml"))
            seen["again"] = {
                "ceph": {"good": "changed=0" in again.stdout, "seen": again.stdout.splitlines()[-2:]}
            }
            self.proc.run(machine.ssh(home, "systemctl reboot"), timeout=60)
            self.timed("reboot", lambda: machine.reached(self.proc, home, self.work, boot))
            seen["after a reboot"] = self.timed("trials again", lambda: self.inside(home, "after"))
        good = all(one["good"] for part in seen.values() for one in part.values())
        return {"good": good, "seen": seen, "seconds": self.seconds}

    def send(self, home: Path) -> None:
        """Put the trials and the product's own code that they use into the machine."""
        own = (files("avadm_lab.vm") / "files/inside.py").read_bytes()
        sent = {"inside.py": own, "volumes.pyz": node_archives.bundle("volumes")}
        for name, body in sent.items():
            path = f"/usr/local/lib/avadm-vm/{name}"
            target = machine.ssh(home, f"mkdir -p /usr/local/lib/avadm-vm && cat > {path}")
            must_have(self.proc.run(target, stdin=body, timeout=120), path)


def must_have(done: CompletedCommand, what: str) -> CompletedCommand:
    """Return a command that ended well; RuntimeError else."""
    if not done.ok:
        raise RuntimeError(f"{what}: {done.why}")
    return done
