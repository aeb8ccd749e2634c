# Runs on nodes: python 2.7 and 3.
"""What ceph has to do with a block device: nothing, an OSD of ours, one of ours half made, or another's."""

from __future__ import absolute_import, division, print_function

import io
import json
import os

from . import blank, content

JOURNAL = "/var/lib/ceph/avadm"  # one file for each OSD whose making has begun and not ended
BLUESTORE = "a ceph OSD (bluestore)"
PV = "an LVM physical volume"


class Journal(object):
    """The OSDs whose making has begun here and not ended; each file holds the OSD's key until then (0600)."""

    def __init__(self, folder=JOURNAL):
        self.folder = folder

    def path(self, uuid):
        """Return an entry's file."""
        return os.path.join(self.folder, uuid + ".json")

    def entries(self):
        """Return all entries, by OSD UUID."""
        found = {}
        if os.path.isdir(self.folder):
            for name in sorted(os.listdir(self.folder)):
                if name.endswith(".json"):
                    with io.open(os.path.join(self.folder, name), encoding="utf-8") as stream:
                        entry = json.load(stream)
                    found[entry["uuid"]] = entry
        return found

    def write(self, entry):
        """Write an entry so that it outlives a power cut: before anything else is done in its name."""
        if not os.path.isdir(self.folder):
            os.makedirs(self.folder, 0o700)
        made = self.path(entry["uuid"]) + ".new"
        handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w") as stream:
            json.dump(entry, stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.rename(made, self.path(entry["uuid"]))
        folder = os.open(self.folder, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def remove(self, uuid):
        """Forget an OSD that is made, and its key with it."""
        if os.path.exists(self.path(uuid)):
            os.unlink(self.path(uuid))


def label(machine, path):
    """Return a device's bluestore label as a mapping (it holds the OSD's key: never show it whole)."""
    rc, out, err = machine.run(["ceph-bluestore-tool", "show-label", "--dev", path])
    if rc != 0:
        raise ValueError("ceph-bluestore-tool: %s" % (err or out).strip())
    return list(json.loads(out[out.index("{") :]).values())[0]


def logical_volumes(machine, path):
    """Return [(osd id, osd fsid, cluster fsid, volume's path)] of the OSDs that ceph-volume began on a device."""
    rc, out, err = machine.run(["ceph-volume", "lvm", "list", "--format", "json", path])
    if rc != 0:
        raise ValueError("ceph-volume: %s" % (err or out).strip())
    found = []
    for volumes in json.loads(out or "{}").values():
        for volume in volumes:
            tags = volume.get("tags", {})
            if tags.get("ceph.type") == "block":
                number, uuid, cluster = (
                    tags["ceph." + key] for key in ("osd_id", "osd_fsid", "cluster_fsid")
                )
                found.append((int(number), uuid, cluster, volume["lv_path"]))
    return found


def signatures(machine, path):
    """Return (bytes, signatures) of a device, without claiming it (a running OSD has it)."""
    handle = machine.open(path, os.O_RDONLY)
    try:
        return content.size(handle), content.signatures(handle)
    finally:
        os.close(handle)


def judge(machine, device, fsid, journal, min_bytes=blank.MIN_BYTES):
    """Return (state, osd) of a resolved device; reasons for a refusal are noted on the device.

    Args:
        fsid: our cluster's id; "" where there is none yet.
        journal: mapping of Journal.entries().

    Returns:
        state: ``blank``, ``osd`` (of our cluster: done), ``unfinished`` (ours, half made), ``refused``.
        osd: {id, fsid, cluster} for ``osd`` and ``unfinished``, else None.
    """
    osd = None
    if not device.reasons:
        try:
            device.bytes, found = signatures(machine, device.real)
        except Exception as error:  # whatever it was: nothing is known of it
            device.refuse("cannot be read: %s" % error)
    if not device.reasons:
        try:
            if BLUESTORE in found:
                osd = bluestore(machine, device, fsid, journal)
            elif PV in found and fsid:
                osd = volumes(machine, device, fsid)
        except Exception as error:  # whatever it was: what the device is, is not known
            device.refuse("what ceph has written on it cannot be read: %s" % error)
    if osd and not osd["ready"]:
        blank.probe(machine, device, min_bytes, own=True)
    elif not osd:
        blank.probe(machine, device, min_bytes)
    if device.reasons:
        return "refused", None
    if not osd:
        return "blank", None
    return ("osd" if osd.pop("ready") else "unfinished"), osd


def bluestore(machine, device, fsid, journal):
    """Return the OSD whose label the device bears, if it is ours."""
    read = label(machine, device.real)
    uuid, cluster = read.get("osd_uuid"), read.get("ceph_fsid")
    # `ready` is the last that mkfs writes.
    if cluster and cluster == fsid and read.get("ready") and "whoami" in read:
        return {"id": int(read["whoami"]), "fsid": uuid, "cluster": cluster, "ready": True}
    # A label of another cluster, or a whole one, is no OSD of ours that was cut off, whatever the journal says of its id.
    if uuid in journal and cluster in (None, "", fsid) and not (read.get("ready") and not cluster):
        return {"id": journal[uuid].get("id"), "fsid": uuid, "cluster": fsid, "ready": False}
    device.refuse(
        "is osd.%s (%s) of another ceph cluster, %s; ours is %s"
        % (read.get("whoami", "?"), uuid, cluster or "unknown", fsid or "not made yet")
    )
    return None


def volumes(machine, device, fsid):
    """Return the OSD that ceph-volume made on the device, if there is exactly one, and it is ours and whole."""
    found = logical_volumes(machine, device.real)
    if len(found) == 1 and found[0][2] == fsid:
        number, uuid, _cluster, path = found[0]
        # ceph-volume tags the volume before it makes the OSD: the tags alone do not say that there is one.
        whole = BLUESTORE in signatures(machine, machine.path(path))[1]
        if whole and label(machine, machine.path(path)).get("ready"):
            return {"id": number, "fsid": uuid, "cluster": fsid, "ready": True}
        device.refuse(
            "carries osd.%d, whose making was cut off. Remedy: `ceph osd purge-new osd.%d --yes-i-really-mean-it` on"
            " a monitor node, which refuses if it ever ran; if that succeeds, `ceph-volume lvm zap --destroy %s` here"
            % (number, number, device.real)
        )
        return None
    for number, uuid, cluster, _path in found:
        device.refuse("carries osd.%d (%s) of ceph cluster %s; ours is %s" % (number, uuid, cluster, fsid))
    return None


def describe(device, state, osd):
    """Return what was found about a device, as the modules return it."""
    return {
        "name": device.name,
        "path": device.path,
        "real": device.real,
        "size": device.bytes,
        "state": state,
        "reasons": device.reasons,
        "osd": osd,
    }


def refusals(devices):
    """Return one text with every refused device and all its reasons; None where there is none."""
    refused = [d for d in devices if d.reasons]
    if not refused:
        return None
    parts = ["%s%s %s" % (d.name, " (%s)" % d.real if d.real else "", ", ".join(d.reasons)) for d in refused]
    return (
        "Refused, and left as %s: %s. Remedy: if a device is the wrong one, correct `devices` of this node in"
        " the site file; if its content may go, `avadm disk zap` erases it; an installation never does."
        % ("it is" if len(refused) == 1 else "they are", "; ".join(parts))
    )
