"""Faults of pods' volumes, planted as raw data as those of `kubernetes.py`."""

from tests.controls.fault import Fault

FAULTS = (
    Fault(
        "class-missing",
        "a storage class of the site file is not there",
        "K-VOL",
        ("classes",),
        lambda c: c.volumes.classes.remove("local"),
    ),
    Fault(
        "other-default",
        "another class than the site file's is the default",
        "K-VOL",
        ("default",),
        lambda c: c.volumes.marked.__setitem__(0, "local"),
    ),
    Fault(
        "never-bound",
        "a claim of cephfs gets no volume",
        "K-VOL",
        ("bound",),
        lambda c: c.volumes.unbound.add("cephfs"),
    ),
    Fault(
        "other-content",
        "the pod on the other node reads other bytes than were written",
        "K-VOL",
        ("same",),
        lambda c: c.volumes.spoiled.add("cephfs"),
    ),
    Fault(
        "one-node",
        "both pods ran on one node: what another node would read is not known",
        "K-VOL",
        ("same",),
        lambda c: c.volumes.together.add("cephfs"),
    ),
    Fault(
        "not-reclaimed",
        "the volume is still there when its claim is gone",
        "K-VOL",
        ("left",),
        lambda c: c.volumes.kept.add("cephfs"),
    ),
    Fault(
        "two-writers",
        "a second node mounts the block volume while the first has it",
        "K-VOL-RBD",
        ("refused", "mounted"),
        lambda c: (setattr(c.volumes, "let_in", True), setattr(c.volumes, "mounted_twice", True)),
    ),
    Fault(
        "mounted-unseen",
        "the second pod waits as it should, but its node has the block volume mounted",
        "K-VOL-RBD",
        ("mounted",),
        lambda c: setattr(c.volumes, "mounted_twice", True),
    ),
    Fault(
        "waits-for-nothing",
        "the second pod waits, and no event says for what: it may wait for anything",
        "K-VOL-RBD",
        ("refused",),
        lambda c: setattr(c.volumes, "silent", True),
    ),
    Fault(
        "lost-on-the-way",
        "the block volume comes to the second node with other bytes",
        "K-VOL-RBD",
        ("same",),
        lambda c: c.volumes.spoiled.add("rbd"),
    ),
    Fault(
        "block-never-bound",
        "a claim of rbd gets no volume",
        "K-VOL-RBD",
        ("bound",),
        lambda c: c.volumes.unbound.add("rbd"),
    ),
    Fault(
        "block-not-reclaimed",
        "the block volume is still there when its claim is gone",
        "K-VOL-RBD",
        ("left",),
        lambda c: c.volumes.kept.add("rbd"),
    ),
    Fault(
        "no-local-volume",
        "no node makes the local volume",
        "K-VOL-LOCAL",
        ("bound",),
        lambda c: c.volumes.unbound.add("local"),
    ),
    Fault(
        "local-not-reclaimed",
        "the local volume outlives its claim",
        "K-VOL-LOCAL",
        ("left",),
        lambda c: c.volumes.kept.add("local"),
    ),
)
