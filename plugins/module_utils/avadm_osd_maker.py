# Runs on nodes: python 2.7 and 3.
"""Makes and starts OSDs on devices that are proven blank; each step can be done again after a cut.

The OSD's UUID and key are written down before the cluster hears of them (ownership.Journal), and
`ceph osd new` gives the same id for the same UUID and key: a run that was cut off continues with that id.
"""

from __future__ import absolute_import, division, print_function

import grp
import io
import json
import os
import pwd
import re
import shutil
import time
import uuid

# Those that these import are named as well: mitogen sends what it finds by a whole name.
from ansible.module_utils.avadm_node.probes.disks import blank, content, naming, ownership  # noqa: F401

BOOTSTRAP = "/var/lib/ceph/bootstrap-osd/ceph.keyring"
DATA = "/var/lib/ceph/osd/ceph-%d"
DROPIN = "/etc/systemd/system/ceph-osd@.service.d/avadm.conf"
# The unit starts as root and ceph-osd steps down to ceph, which could not open the device after a boot.
DROPIN_TEXT = """# Managed by avadm.
[Service]
ExecStartPre=/bin/chown ceph:ceph /var/lib/ceph/osd/ceph-%i/block
"""


class OsdError(Exception):
    """An OSD could not be made or started; the text is for people."""


class Maker(object):
    """Makes the OSDs of one node.

    Args:
        machine: machine.Machine.
        run: callable(argv, data) -> (rc, stdout, stderr); data goes to the command's standard input.
        journal: ownership.Journal.
        min_bytes: the least size of a device, for the probe just before writing.
        clock, sleep: time.time and time.sleep, replaced in tests.
    """

    def __init__(self, machine, run, journal, min_bytes, clock=time.time, sleep=time.sleep):
        self.machine = machine
        self.run_command = run
        self.journal = journal
        self.min_bytes = min_bytes
        self.clock = clock
        self.sleep = sleep

    def run(self, what, argv, data=None):
        """Run a command; OsdError with what was being done if it fails."""
        rc, out, err = self.run_command(argv, data)
        if rc != 0:
            # ceph-volume shows the commands that it runs, and one of them has the OSD's key.
            reply = re.sub(r"(--add-key)\s+\S+", r"\1 ***", err or out)
            reply = [line for line in reply.splitlines() if line.strip()][-4:]
            raise OsdError("%s failed (`%s`, exit status %d): %s" % (what, argv[0], rc, " / ".join(reply)))
        return out

    def ceph(self, what, words, data=None):
        """Run a command of the cluster with the bootstrap key."""
        identity = ["--name", "client.bootstrap-osd", "--keyring", BOOTSTRAP, "--connect-timeout", "30"]
        return self.run(what, ["ceph"] + identity + words, data)

    def write_bootstrap(self, key):
        """Keep the key that lets a node ask for OSD ids, where ceph's own tools look for it."""
        return write(BOOTSTRAP, "[client.bootstrap-osd]\n\tkey = %s\n" % key, 0o600)

    def begin(self, device):
        """Write down a new OSD's UUID and key; return the entry."""
        key = self.run("making a key", ["ceph-authtool", "--gen-print-key"]).strip()
        entry = {"uuid": str(uuid.uuid4()), "key": key, "path": device.path}
        entry["class"] = device.approved.get("device_class") or ""
        self.journal.write(entry)
        return entry

    def make_raw(self, device, entry, own, reused=None):
        """Make an OSD on the bare device; return its id.

        Args:
            entry: the journal's entry, old or new.
            own: the device carries a half-made OSD of this very entry.
            reused: the destroyed OSD's id that it takes over; None for a new one.
        """
        number = self.new_id(entry, reused)
        folder = DATA % number
        owned(folder, entry["uuid"])
        if not os.path.isdir(folder):
            os.makedirs(folder, 0o755)
        keyring = "[osd.%d]\n\tkey = %s\n" % (number, entry["key"])
        write(folder + "/keyring", keyring, 0o600)
        link(device.path, folder)
        self.ceph("fetching the monitor map", ["mon", "getmap", "-o", folder + "/activate.monmap"])
        self.look_again(device, own)
        # Closing it let udev look again, which resets the owner; only then it is ceph's.
        self.run_command(["udevadm", "settle", "--timeout=30"], None)
        # The OSD is written through the link, and what was probed is the device that it led to.
        if self.machine.number(self.machine.path(device.path)) != device.number:
            raise OsdError("%s no longer leads to %s, which was probed" % (device.path, device.real))
        ceph_owns(device.real, folder)
        self.mkfs(folder, number, entry)
        os.unlink(folder + "/activate.monmap")
        self.journal.remove(entry["uuid"])
        return number

    def new_id(self, entry, reused=None):
        """Have the cluster know a new OSD, under a destroyed one's id if one is given; write the id down and return it."""
        secrets = {"cephx_secret": entry["key"]}
        if entry["class"]:
            secrets["crush_device_class"] = entry["class"]
        words = ["osd", "new", entry["uuid"]] + ([str(reused)] if reused is not None else []) + ["-i", "-"]
        number = entry["id"] = int(self.ceph("asking for an OSD id", words, json.dumps(secrets)).strip())
        if reused is not None and number != reused:
            raise OsdError("it is osd.%d already, and was to become osd.%d" % (number, reused))
        self.journal.write(entry)
        if reused is not None:
            self.put_away(reused, entry["uuid"])
        return number

    def put_away(self, number, uuid):
        """Move the folder of the destroyed OSD away whose id another one takes over; the disk behind it is not touched."""
        folder = DATA % number
        found = first_line(folder + "/fsid")
        if os.path.ismount(folder):
            # ceph-volume's, in memory.
            self.run("unmounting %s" % folder, ["umount", folder])
            found = first_line(folder + "/fsid")
        if found in (None, uuid):
            return
        target = os.path.join(self.journal.folder, "replaced-%d-%s" % (number, found))
        if os.path.isdir(target):
            shutil.rmtree(target)
        shutil.move(folder, target)

    def mkfs(self, folder, number, entry):
        """Write an OSD through the link `block` of a folder that has the monitor map."""
        argv = ["ceph-osd", "--cluster", "ceph", "--osd-objectstore", "bluestore", "--mkfs"]
        argv += ["-i", str(number), "--osd-data", folder + "/", "--keyfile", "-"]
        argv += ["--monmap", folder + "/activate.monmap"]
        argv += ["--osd-uuid", entry["uuid"], "--setuser", "ceph", "--setgroup", "ceph"]
        self.run("writing the OSD", argv, entry["key"])

    def look_again(self, device, own=False):
        """Find and probe it once more, open for writing: nothing may have changed since the first time."""
        naming.recheck(self.machine, device)
        blank.probe(self.machine, device, self.min_bytes, writable=True, own=own)
        if device.reasons:
            raise OsdError("it is no longer blank: %s" % ", ".join(device.reasons))

    def make_lvm(self, device):
        """Make an OSD on a logical volume; return its id. If ceph-volume fails, it takes the volume back as well.

        ceph-volume itself would run `vgcreate --force --yes`, seconds after the last look at the device.
        """
        # It asks for an id only once there is a volume: see before that somebody would answer.
        self.ceph("asking the monitors", ["mon", "getmap", "-o", os.devnull])
        name = self.make_volume(device)
        argv = ["ceph-volume", "lvm", "create", "--bluestore", "--data", name]
        if device.approved.get("device_class"):
            argv += ["--crush-device-class", device.approved["device_class"]]
        self.run("ceph-volume", argv)
        return ownership.logical_volumes(self.machine, device.real)[0][0]

    def make_volume(self, device):
        """Make one logical volume of a device; return its name, GROUP/VOLUME."""
        name = str(uuid.uuid4())
        group, volume = "ceph-" + name, "osd-block-" + name
        self.look_again(device)
        # Without --force and --yes it claims the device, and asks before it overwrites anything: no.
        self.run("making a volume group", ["vgcreate", group, device.real], "n\n")
        argv = ["lvcreate", "--extents", "100%FREE", "--name", volume, group]
        self.run("making a logical volume", argv, "n\n")
        return "%s/%s" % (group, volume)

    def make_lvm_again(self, device, entry, reused, cluster):
        """Make an OSD on a logical volume under a destroyed one's id; return the id.

        Not by `ceph-volume lvm create --osd-id`: where that fails it purges the id, and with it the OSD's place in the CRUSH
        map, and erases every volume that is tagged with the id, which the old disk's is as well.
        """
        number = self.new_id(entry, reused)
        folder = os.path.join(self.journal.folder, "made-" + entry["uuid"])
        if not os.path.isdir(folder):
            os.makedirs(folder, 0o700)
        try:
            self.ceph("fetching the monitor map", ["mon", "getmap", "-o", folder + "/activate.monmap"])
            name = self.make_volume(device)
            path = "/dev/" + name
            self.run_command(["udevadm", "settle", "--timeout=30"], None)
            link(path, folder)
            ceph_owns(self.machine.path(path), folder)
            self.mkfs(folder, number, entry)
        finally:
            shutil.rmtree(folder)
        argv = ["lvs", "--noheadings", "--options", "lv_uuid", name]
        tags = volume_tags(number, entry, cluster, path, self.run("asking for the volume", argv).strip())
        # Last, in one go: a volume with tags is a whole OSD.
        words = [word for tag in tags for word in ("--addtag", tag)]
        self.run("tagging the volume", ["lvchange"] + words + [name])
        self.journal.remove(entry["uuid"])
        self.activate(number, entry["uuid"])
        return number

    def activate(self, number, uuid):
        """Bring back an lvm OSD's folder (node re-installed, a run cut off); return if it was missing."""
        folder = DATA % number
        if owned(folder, uuid):
            return False
        argv = ["ceph-volume", "lvm", "activate", "--bluestore", str(number), uuid]
        self.run("activating osd.%d" % number, argv)
        return True

    def prepare(self, device, number):
        """Put right a raw OSD's folder (node re-installed, other link); return if it was wrong."""
        folder = DATA % number
        changed = False
        if first_line(folder + "/keyring") is None or first_line(folder + "/fsid") is None:
            if not os.path.isdir(folder):
                os.makedirs(folder, 0o755)
            argv = ["ceph-bluestore-tool", "prime-osd-dir", "--dev", device.real, "--path", folder]
            self.run("restoring the OSD's folder", argv)
            ceph_owns(device.real, folder)
            changed = True
        return link(device.path, folder) or changed

    def write_dropin(self):
        """Write the unit's addition; return whether it was missing."""
        changed = write(DROPIN, DROPIN_TEXT, 0o644)
        if changed:
            self.run("systemd", ["systemctl", "daemon-reload"])
        return changed

    def start(self, number):
        """Enable and start an OSD's unit; return whether it was not so before."""
        unit = "ceph-osd@%d" % number
        changed = False
        if self.run_command(["systemctl", "is-enabled", unit], None)[0] != 0:
            self.run("enabling %s" % unit, ["systemctl", "enable", unit])
            changed = True
        state = self.run_command(["systemctl", "is-active", unit], None)[1].strip()
        if state not in ("active", "activating"):
            self.run_command(["systemctl", "reset-failed", unit], None)
            self.run("starting %s" % unit, ["systemctl", "start", unit])
            changed = True
        return changed

    def await_up(self, number, cluster, deadline):
        """Wait until the OSD says of itself that the cluster has it up; OsdError if it does not in time."""
        text = ""
        while True:
            rc, out, err = self.run_command(["ceph", "daemon", "osd.%d" % number, "status"], None)
            text = (err or out).strip()
            if rc == 0:
                status = json.loads(out)
                if cluster and status.get("cluster_fsid") != cluster:
                    raise OsdError("it belongs to another cluster, %s" % status.get("cluster_fsid"))
                if status.get("state") == "active":
                    return
                text = "state %s" % status.get("state")
            if self.clock() >= deadline:
                argv = ["journalctl", "-q", "--no-pager", "-n", "5", "-o", "cat", "-u"]
                log = " / ".join(self.run_command(argv + ["ceph-osd@%d" % number], None)[1].splitlines())
                raise OsdError(
                    "it does not come up (%s). Its log ends: %s. Remedy: see that this node reaches the"
                    " monitors, and what `journalctl -u ceph-osd@%d` says" % (text, log, number)
                )
            self.sleep(1)


def write(path, text, mode):
    """Write a file if it differs, owned by root unless it is ceph's key; return whether it did."""
    if os.path.exists(path):
        with io.open(path, encoding="utf-8") as stream:
            if stream.read() == text:
                return False
    if not os.path.isdir(os.path.dirname(path)):
        os.makedirs(os.path.dirname(path), 0o755)
    handle = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(handle, "w") as stream:
        stream.write(text)
    os.rename(path + ".new", path)
    return True


def first_line(path):
    """Return a file's first line; None where there is no file."""
    if not os.path.exists(path):
        return None
    with io.open(path, encoding="utf-8") as stream:
        return stream.readline().strip()


def owned(folder, uuid):
    """Return whether a folder is that of an OSD, False if it is unclaimed; OsdError if it is another's."""
    found = first_line(folder + "/fsid")
    if found not in (None, uuid):
        raise OsdError("%s belongs to another OSD (%s); move it away" % (folder, found))
    return found is not None


def volume_tags(number, entry, cluster, path, volume):
    """Return the tags by which ceph-volume (14.2 to 18.2) knows an OSD's volume, NAME=VALUE each.

    Args:
        number: the OSD's id.
        entry: the journal's entry.
        cluster: the cluster's fsid.
        path: the volume's path.
        volume: the volume's own UUID.
    """
    return [
        "ceph.%s=%s" % pair
        for pair in (
            ("block_device", path),
            ("block_uuid", volume),
            ("cephx_lockbox_secret", ""),
            ("cluster_fsid", cluster),
            ("cluster_name", "ceph"),
            ("crush_device_class", entry["class"] or "None"),
            ("encrypted", "0"),
            ("osd_fsid", entry["uuid"]),
            ("osd_id", "%d" % number),
            ("osdspec_affinity", ""),
            ("type", "block"),
            ("vdo", "0"),
        )
    ]


def link(target, folder):
    """Let the OSD's block link lead to a stable path; return whether it did not."""
    path = folder + "/block"
    if os.path.islink(path) and os.readlink(path) == target:
        return False
    if os.path.lexists(path):
        os.unlink(path)
    os.symlink(target, path)
    return True


def ceph_owns(device, folder):
    """Give a device and an OSD's folder with its files to ceph."""
    uid, gid = pwd.getpwnam("ceph").pw_uid, grp.getgrnam("ceph").gr_gid
    os.chown(device, uid, gid)
    os.chown(folder, uid, gid)
    for name in os.listdir(folder):
        os.lchown(os.path.join(folder, name), uid, gid)
