"""Prepares the devices, lets the installer look at them, and prints what came of it as JSON.

Runs as root in its own mount and process namespaces, so that its mounts, links and processes are no one
else's: usage: unshare --mount --pid --fork --mount-proc --kill-child python inside.py FOLDER. Real are the
devices, every probe, the role's tasks and the modules; a stand-in of ceph's commands records its calls.
"""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parent))
from prepared_devices import DEVICES, ERASED, LATER, OSD, SIZE, THEIRS, USED, write

from avadm.checks.collect import collect
from avadm.checks.framework import run
from avadm.checks.preflight import CHECKS
from avadm.disks.approvals import approvals as approvals_of
from avadm.disks.nodes import Disk, ask
from avadm.disks.zap import target
from avadm.site import profile
from avadm.site.model import Site
from avadm_node.probes.disks import report
from tests.unit.fakes.fleet import LocalFleet
from tests.unit.fakes.running import play, stub
from tests.unit.plugins import sparse

BY_ID = Path("/dev/disk/by-id")
OURS = "0b5f5c1e-0000-4000-8000-00000000000a"
BLKFLSBUF = 0x1261
AT_ONCE = [name for name in DEVICES if name not in LATER]

CEPH = """#!/bin/sh
# Stands in for ceph's and systemd's commands: records its calls, and lets things happen while an OSD is made.
name=$(basename "$0")
echo "$name $*" >> {folder}/calls
# A word that is `-`: who calls it writes to its standard input, and fails where no one reads that.
case "$* " in *" - "*) cat > /dev/null;; esac
case "$name $*" in
  *"ceph-authtool"*) echo KEY==;;
  "ceph --name"*"osd new"*) n=$(cat {folder}/next); echo $((n + 1)) > {folder}/next; echo "$n";;
  "ceph --name"*"mon getmap"*) for word; do out=$word; done; : > "$out"
    number=${{out%/*}}; sh {folder}/event-"${{number##*-}}" 2>/dev/null;;
  "ceph daemon"*) echo '{{"cluster_fsid": "{ours}", "state": "active"}}';;
  "ceph-volume lvm list"*{lvm}) echo '{{"4": [{{"tags": {{"ceph.type": "block", "ceph.osd_id": "4",'\\
    '"ceph.osd_fsid": "{osd}", "ceph.cluster_fsid": "{theirs}"}}, "lv_path": "/dev/ceph/osd"}}]}}';;
  "ceph-bluestore-tool show-label"*) echo '{{"d": {{"osd_uuid": "{osd}", "ceph_fsid": "{theirs}",'\\
    '"whoami": "4", "ready": "ready"}}}}';;
  "ceph-volume lvm list"*) echo '{{}}';;
  "systemctl is-active"*) echo inactive; exit 3;;
esac
exit 0
"""


def sh(*argv):
    """Run a command; it must succeed."""
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


class Stage:
    """The devices and what was done with them; `end` undoes it."""

    def __init__(self, folder):
        self.folder = folder
        self.loops = {}
        self.extra = []
        self.undo = []
        self.children = []

    def file(self, name):
        return self.folder / f"{name}.img"

    def attach(self):
        """Make all devices; the machine's own /dev is needed for that."""
        for name, device in DEVICES.items():
            write(device, self.file(name))
            self.loops[name] = sh("losetup", "-f", "--show", str(self.file(name)))
            self.undo.append(["losetup", "-d", self.loops[name]])
        # Partitions by ioctl: this kernel may know no partition table.
        for name in ("partition-used", "partition"):
            sh("addpart", self.loops[name], "1", "2048", "65536")
            self.undo.append(["delpart", self.loops[name], "1"])
        self.second("under-loop", self.loops["under-loop"])
        self.second("two-paths", str(self.file("two-paths")))

    def second(self, name, behind):
        """Attach one loop device more; `blank` stays alone."""
        loop = sh("losetup", "-f", "--show", behind)
        self.undo.append(["losetup", "-d", loop])
        self.loops[name + "+"] = loop

    def scenery(self):
        """Have an own /dev, /run, /etc and /var/lib, so that nothing of the machine's is touched."""
        devices = self.folder / "dev"
        devices.mkdir()
        sh("mount", "-t", "tmpfs", "dev", str(devices))
        for path in ("null", "zero", "random", "urandom", "full", "tty"):
            number = Path("/dev", path).stat().st_rdev
            os.mknod(devices / path, 0o666 | 0o020000, number)
        for name, path in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
            (devices / name).symlink_to(f"/proc/self/{path}")
        (devices / "shm").mkdir()
        for loop in [*self.loops.values(), *(self.loops[n] + "p1" for n in ("partition", "partition-used"))]:
            text = Path("/sys/class/block", Path(loop).name, "dev").read_text().split(":")
            os.mknod(devices / Path(loop).name, 0o660 | 0o060000, os.makedev(*map(int, text)))
        sh("mount", "--move", str(devices), "/dev")
        for path in ("/run", "/var/lib"):
            sh("mount", "-t", "tmpfs", "none", path)
        upper = self.folder / "etc"
        sh("mkdir", "-p", str(upper))
        sh("mount", "-t", "tmpfs", "etc", str(upper))
        for part in ("upper", "work"):
            (upper / part).mkdir()
        options = f"lowerdir=/etc,upperdir={upper}/upper,workdir={upper}/work"
        sh("mount", "-t", "overlay", "overlay", "-o", options, "/etc")
        for path, line in (
            ("passwd", "ceph:x:64045:64045::/var/lib/ceph:/bin/false"),
            ("group", "ceph:x:64045:"),
        ):
            text = Path("/etc", path).read_text()
            Path("/etc", path).write_text(text if "\nceph:" in text else f"{text.rstrip()}\n{line}\n")
        lvm = self.loops["ceph-volume"]
        script = CEPH.format(folder=self.folder, ours=OURS, theirs=THEIRS, osd=OSD, lvm=lvm)
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        for end in ("", "-authtool", "-osd", "-volume", "-bluestore-tool"):
            os.environ |= stub(self.folder / f"bin/ceph{end}", script)
        stub(self.folder / "bin/systemctl", script)
        stub(self.folder / "bin/udevadm", script)
        (self.folder / "calls").touch()
        (self.folder / "next").write_text("0")

    def number(self, loop):
        return Path("/sys/class/block", Path(loop).name, "dev").read_text().strip()

    def name(self):
        """Give the devices their by-id links and what udev says of them."""
        BY_ID.mkdir(parents=True)
        udev = Path("/run/udev/data")
        udev.mkdir(parents=True)
        for name, device in DEVICES.items():
            target = self.loops[name] + ("p1" if name == "partition" else "")
            if device.state == "no-device":
                target = str(self.file(name))
            link(name).symlink_to("/dev/nothing" if device.state == "dangling" else target)
            for loop in (self.loops[name], self.loops.get(name + "+")):
                if device.udev and loop:
                    text = "".join(f"E:{key}={value}\n" for key, value in device.udev.items())
                    (udev / f"b{self.number(loop)}").write_text(text)

    def use(self):
        """Bring about what the devices' states say; mounts are read-only, so that the kernel writes nothing."""
        partition = self.loops["partition-used"] + "p1"
        sh("mkfs.ext4", "-q", partition)
        for name, path in (("mounted", None), ("elsewhere", None), ("partition-used", partition)):
            point = self.folder / name
            point.mkdir()
            sh("mount", "-o", "ro,noload", path or self.loops[name], str(point))
        self.hold(str(self.folder / "elsewhere"), 0)
        sh("umount", "--lazy", str(self.folder / "elsewhere"))  # in no table any more, but in use as before
        self.hold(self.loops["opened"], 0)
        self.hold(self.loops["claimed"], os.O_EXCL)
        sh("swapon", self.loops["swapping"])
        self.undo.append(["swapoff", self.loops["swapping"]])
        holders = self.folder / "holders"
        (holders / "dm-0").mkdir(parents=True)
        sh("mount", "--bind", str(holders), f"/sys/dev/block/{self.number(self.loops['holder'])}/holders")
        sh("blockdev", "--setro", self.loops["read-only"])
        self.undo.append(["blockdev", "--setrw", self.loops["read-only"]])
        os.truncate(self.file("truncated"), SIZE // 2)
        for number, name in enumerate(LATER):
            loop, other = self.loops[name], self.loops["blank"]
            event = {
                "vanishes": f"losetup -d {loop}",
                "swapped": f"ln -sfn {other} {link(name)}",
                "written": f"printf x | dd of={loop} bs=1 seek=1000000 conv=notrunc,fsync",
            }[name]
            (self.folder / f"event-{number}").write_text(event)

    def hold(self, path, flags):
        """Have a process that holds something open."""
        handle = os.open(path, os.O_RDONLY | flags)
        self.children.append(subprocess.Popen(["sleep", "600"], pass_fds=[handle]))
        os.close(handle)

    def end(self):
        """Undo all; what is left ends with the namespaces."""
        for child in self.children:
            child.kill()
            child.wait()
        for name in ("mounted", "partition-used"):
            subprocess.run(["umount", str(self.folder / name)], check=False, capture_output=True)
        for argv in reversed(self.undo):
            subprocess.run(argv, check=False, capture_output=True)

    def digests(self):
        """Return the sha256 of each device's whole content, once the kernel has written out what it held."""
        found = {}
        for name in DEVICES:
            try:
                with Path(self.loops[name]).open("rb") as stream:
                    os.fsync(stream.fileno())
                    fcntl.ioctl(stream.fileno(), BLKFLSBUF)
            except OSError:
                pass  # read-only, or gone: what there is of it lies in the file
            with self.file(name).open("rb") as stream:
                # What the kernel swaps out is not the installer's doing: of such a device the header counts.
                found[name] = sparse.digest(stream) if name != "swapping" else stream.read(4096).hex()
        return found


def link(name):
    """Return a device's by-id link; as on real machines it bears the serial number."""
    device = DEVICES[name]
    serial = device.udev.get("ID_SERIAL_SHORT") if name != "relinked" else None
    return BY_ID / f"scsi-TEST_{serial or name}"


def approvals(names):
    return [DEVICES[n].approval or {"by_id": str(link(n))} for n in names]


def role(folder, names):
    """Apply the role that makes OSDs to devices; return the module's answer, and the calls of ceph's commands."""
    role = {"ansible.builtin.import_role": {"name": "ceph_osd", "tasks_from": "run"}}
    answer = folder / "answer"
    kept = {"content": "{{ ansible_failed_result | to_json }}", "dest": str(answer), "mode": "0600"}
    given = {
        "ceph_osd_devices": [{**one, "device_class": "ssd"} for one in approvals(names)],
        "ceph_osd_fsid": OURS,
        "ceph_osd_bootstrap_key": "KEY==",
        "ceph_osd_backend": "raw",
        "ceph_osd_min_bytes": SIZE,
        "ceph_osd_timeout": 5,
    }
    (folder / "vars.json").write_text(json.dumps(given))
    answer.unlink(missing_ok=True)
    (folder / "calls").write_text("")
    task = {"block": [role], "rescue": [{"ansible.builtin.copy": kept}]}
    env = {"ANSIBLE_HOME": str(folder / "ansible")}
    done = play(folder, task, env=env, words=("-e", f"@{folder}/vars.json"))
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    reply = json.loads(answer.read_text()) if answer.exists() else {"msg": ""}
    return reply, (folder / "calls").read_text().splitlines()


def preflight(folder, names):
    """Return what `avadm preflight --check disks` finds, device by device."""
    node = {"name": "n1", "address": "10.0.0.1", "roles": ["mon", "mgr", "osd"], "devices": approvals(names)}
    data = {
        "name": "t",
        "profile": "lab-bookworm",
        "network": {"management": "10.0.0.0/24", "domain": "t.test"},
        "nodes": [node],
        "extra_vars": {"ceph_osd_min_bytes": SIZE},
    }
    site = Site.model_validate(data)
    checks = tuple(c for c in CHECKS if c.id == "disks")
    facts = {fact for c in checks for fact in c.facts}
    context = collect(site, profile.load("lab-bookworm"), site.nodes, LocalFleet(), facts)
    found = {name: [] for name in names}
    where = {
        one.get("by_id") or f"serial {one['serial']}": n
        for one, n in zip(approvals(names), names, strict=True)
    }
    for finding in run(context, checks)["disks"]:
        found[where[finding.where]].append(f"{finding.what} {finding.found}")
    return found


def zaps():
    """Return what forbids to erase each used device, and what came of erasing some that no one uses."""
    from ansible.module_utils.avadm_node.probes.disks import zap

    fleet, node = LocalFleet(), SimpleNamespace(devices=[], vars={})
    site = SimpleNamespace(extra_vars={"ceph_osd_min_bytes": SIZE}, nodes=[])
    answer = ask(fleet, sys.executable, "n1", report.every, approvals_of(site, node))
    disks = {Path(link).name: Disk("n1", one) for one in answer for link in one["links"]}
    targets = {name: target(disks[link(name).name]) for name in [*USED, *ERASED]}
    looks = {name: zap.look(one)["reasons"] for name, one in targets.items()}
    # Asked to erase a used one all the same, the node refuses by itself.
    forced = {name: zap.zap(targets[name]) for name in USED}
    assert all(one["wiped"] == [] for one in forced.values()), forced
    erased = {name: zap.zap(targets[name]) for name in ERASED}
    return looks, erased


def main():
    """Print the outcome as JSON."""
    folder = Path(sys.argv[1])
    stage = Stage(folder)
    try:
        stage.attach()
        stage.scenery()
        stage.name()
        stage.use()
        result = {"before": stage.digests()}
        result["preflight"] = preflight(folder, list(DEVICES))
        result["refused"], result["refused_calls"] = role(folder, AT_ONCE)
        result["made"], result["made_calls"] = role(folder, [*LATER, "blank"])
        result["after"] = stage.digests()
        result["loops"] = stage.loops
        result["zap_refused"], result["zapped"] = zaps()
        json.dump(result, sys.stdout)
    finally:
        stage.end()


if __name__ == "__main__":
    main()
