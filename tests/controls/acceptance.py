"""Faults that turn acceptance checks red (acceptance.md 2.3.9): what is planted where, and what must come of it.

A fault is planted before the check runs and taken away after it, or (``beside``) done once while it runs, to what the
check itself made. Nodes are named by role: ``client`` all of them, ``client:0`` the first.
"""

from tests.controls.cache import CONTROLS as CACHE
from tests.controls.cis import CONTROLS as CIS
from tests.controls.control import Act, Control, Fault, shown
from tests.controls.kubernetes import CONTROLS as KUBERNETES
from tests.controls.kubernetes_lab import FAULTS as KUBERNETES_LAB
from tests.controls.logs import CONTROLS as LOGS
from tests.controls.objects import CONTROLS as OBJECTS
from tests.controls.objects_lab import FAULTS as OBJECTS_LAB
from tests.controls.platform import CONTROLS as PLATFORM
from tests.controls.platform_lab import FAULTS as PLATFORM_LAB
from tests.controls.platform_more import FAULTS as PLATFORM_MORE
from tests.controls.storage import CONTROLS as STORAGE_RAW

WORK = "/mnt/cephfs/avadm-accept-*"
LAB = "tests/lab/acceptance/test_negative_controls.py"
RAW = "tests/unit/validation"
DELAY = "osd_debug_inject_dispatch_delay"
LATE = f"ceph config set osd {DELAY}_duration 0.05 && ceph config set osd {DELAY}_probability 1 && sleep 3"
PROMPT = f"ceph config rm osd {DELAY}_probability; ceph config rm osd {DELAY}_duration"


def when_there(path, act):
    """Return a script that waits for a file (a pattern) and acts on it as $f."""
    return (
        f'for i in $(seq 4000); do for f in {path}; do if [ -s "$f" ]; then {act}; exit $?; fi; done; sleep 0.05; done; '
        "exit 1"
    )


def instead(tool, body, folder="/usr/local/bin"):
    """Return the act that puts a shell script before a tool on the PATH of a node."""
    path = f"{folder}/{tool}"
    return (
        f"printf '#!/bin/sh\\n%s\\n' {_quoted(body)} > {path}.new && chmod 755 {path}.new && mv {path}.new {path}",
        f"rm -f {path} {path}.new",
    )


def slow(rate, burst, latency):
    """Return the scripts that limit what a node sends; a queue of ``latency`` ms delays all of it."""
    return (
        f"tc qdisc add dev eth0 root tbf rate {rate} burst {burst} latency {latency}ms",
        "if tc qdisc show dev eth0 | grep -q tbf; then tc qdisc del dev eth0 root; fi",
    )


def _quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


OTHER_VERSION = """case "$*" in --version) echo 'ceph version 13.2.10 (planted) mimic (stable)';;
*) exec /usr/bin/ceph "$@";; esac"""
OTHER_MKFS = (
    """a=$(printf '%s ' "$@" | sed 's/-i 4096/-i 65536/; s/large_dir,//'); exec /usr/sbin/mkfs.ext4 $a"""
)
CONF = "/etc/ceph/ceph.conf"
KEPT = "/root/avadm-fault"
WRITABLE = """import rbd
class Writable(rbd.Image):
    def __init__(self, ioctx, name=None, snapshot=None, read_only=False, **more):
        super().__init__(ioctx, name)
rbd.Image = Writable
"""
BINDINGS = "$(dirname $(python3 -c 'import rbd; print(rbd.__file__)'))"
SPOIL = (
    "for i in $(seq 400); do image=$(rbd ls rbd | grep shared); "
    'if [ -n "$image" ] && rbd snap ls rbd/$image | grep -q read; then '
    "prefix=$(rbd info rbd/$image | sed -n 's/.*block_name_prefix: //p'); "
    "head -c 4194304 /dev/zero > /tmp/avadm-fault.junk; "
    "for n in 0 1 2 3 4 5 6 7; do rados -p rbd put $prefix.000000000000000$n /tmp/avadm-fault.junk || exit 1; done; "
    "rm /tmp/avadm-fault.junk; exit 0; fi; sleep 0.1; done; exit 1"
)

STORAGE = (
    Fault(
        "osd-stopped",
        "an OSD is stopped",
        (
            Act(
                "osd:0",
                "systemctl stop ceph-osd@$(ls /var/lib/ceph/osd | sed -n '1s/ceph-//p') && sleep 3",
                "systemctl start ceph-osd@$(ls /var/lib/ceph/osd | sed -n '1s/ceph-//p')",
            ),
        ),
        {"preconditions": ("health", "busy-pgs", "osds-down")},
        verdict="BLOCKED",
    ),
    Fault(
        "osd-flag",
        "OSD flag noout is set",
        (Act("mon:0", "ceph osd set noout", "ceph osd unset noout"),),
        {"preconditions": ("health",)},
        verdict="BLOCKED",
    ),
    Fault(
        "pool-quota",
        "the pool of images is full by its quota",
        (
            Act(
                "mon:0",
                "ceph osd pool set-quota rbd max_objects 1 && for i in $(seq 60); do "
                "ceph health detail | grep -q POOL_FULL && exit 0; sleep 1; done; exit 1",
                "ceph osd pool set-quota rbd max_objects 0",
            ),
        ),
        {"preconditions": ("health",)},
        verdict="BLOCKED",
    ),
    Fault(
        "odd-clients",
        "one client has another ceph (planted answer of `ceph --version`), one a clock 10 s ahead (planted `date`: no "
        "node may set the clock), one no fio",
        (
            Act("client:0", *instead("ceph", OTHER_VERSION)),
            Act("client:1", *instead("date", 'exec /bin/date -d "10 seconds" "$@"')),
            Act("client:-1", *instead("fio", "exit 127")),
        ),
        {"preconditions": ("versions", "skew", "tools")},
        verdict="BLOCKED",
        quick=True,
    ),
    Fault(
        "slow-clients",
        "clients send 750 kbit/s at most, queued up to 400 ms (tbf)",
        (Act("client", *slow("750kbit", "16kb", 400)),),
        {"A-FS1": ("create",)},
    ),
    Fault(
        "slow-storage",
        "storage nodes send 16 Mbit/s at most, queued up to 200 ms (tbf)",
        (Act("osd", *slow("16mbit", "64kb", 200)),),
        {"A-FS2": ("read-aggregate",), "A-BD2": ("read",)},
    ),
    Fault(
        "late-osds",
        "every OSD waits 0.05 s with each message (ceph's own injection)",
        (Act("mon:0", LATE, PROMPT),),
        {"A-FS1": ("read",), "A-BD1": ("read", "write")},
    ),
    Fault(
        "file-there",
        "a file lies where one is to be made",
        (
            Act(
                "client:0",
                when_there(
                    f"{WORK}/A-FS3/$(hostname)/r0.p0/0000000",
                    'd=$(dirname $(dirname "$f")); mkdir -p $d/r3.p0 && echo planted > $d/r3.p0/0000007',
                ),
            ),
        ),
        {"A-FS3": ("errors",)},
        beside=True,
    ),
    Fault(
        "file-gone",
        "a file is removed from the directory that is counted",
        (Act("client:1", when_there(f"{WORK}/A-FS4/r0/$(hostname).0.0000000", "rm $f")),),
        {"A-FS4": ("missing",)},
        beside=True,
    ),
    Fault(
        "content-changed",
        "a byte of a file changes behind its reader",
        (
            Act(
                "client:0",
                when_there(
                    f"{WORK}/A-FS5/coherence/$(hostname)/r0.p0/0000000",
                    "sleep 0.1; printf X | dd of=$f bs=1 seek=5000 conv=notrunc,fsync",
                ),
            ),
        ),
        {"A-FS5": ("coherence",)},
        beside=True,
    ),
    Fault(
        "other-mkfs",
        "mkfs.ext4 makes fewer inodes and leaves large_dir out (planted on the client's PATH)",
        (Act("client:0", *instead("mkfs.ext4", OTHER_MKFS, "/usr/local/sbin")),),
        {"A-BD3": ("inodes",), "A-BD4": ("large-dir",)},
    ),
    Fault(
        "no-fuse2fs",
        "the tool that shows an image's file system is missing",
        (
            Act(
                "client:0",
                "mv $(command -v fuse2fs) /usr/bin/fuse2fs.avadm-fault",
                "if [ -e /usr/bin/fuse2fs.avadm-fault ]; then mv /usr/bin/fuse2fs.avadm-fault /usr/bin/fuse2fs; fi",
            ),
        ),
        {"A-BD3": (), "A-BD4": ()},
        verdict="BLOCKED",
    ),
    Fault(
        "writable-readers",
        "one client's bindings open the shared image writable",
        (
            # A .pth file is run at each start of python.
            Act(
                "client:-1",
                f"place={BINDINGS}; printf %s {_quoted(WRITABLE)} > $place/avadm_fault.py && "
                "echo 'import avadm_fault' > $place/avadm_fault.pth",
                f"place={BINDINGS}; rm -f $place/avadm_fault.py $place/avadm_fault.pth",
            ),
        ),
        {"A-BD5": ("refused",)},
    ),
    Fault(
        "objects-spoiled",
        "objects of the shared image are overwritten with zeros below ceph's block layer (rados put)",
        (Act("mon:0", SPOIL),),
        {"A-BD5": ("bad",)},
        beside=True,
    ),
    Fault(
        "no-exclusive-lock",
        "images are made without exclusive-lock: a second writer is let in",
        (
            Act(
                "client",
                f"cp -a {CONF} {KEPT}.conf && sed -i 's/^rbd_default_features.*/rbd_default_features = 1/' {CONF}",
                f"if [ -e {KEPT}.conf ]; then mv {KEPT}.conf {CONF}; fi",
            ),
        ),
        {"A-BD6": ("held", "write-refused")},
    ),
    Fault(
        "read-only-user",
        "the clients' user may only read images",
        (
            Act(
                "mon:0",
                f"umask 077; ceph auth export client.rbd -o {KEPT}.auth && "
                "ceph auth caps client.rbd mon 'profile rbd' osd 'profile rbd-read-only'",
                f"if [ -s {KEPT}.auth ]; then ceph auth import -i {KEPT}.auth && rm {KEPT}.auth; fi",
            ),
        ),
        {"A-BD1": (), "A-BD2": (), "A-BD5": (), "A-BD6": ()},
    ),
)
FAULTS = (*STORAGE, *KUBERNETES_LAB, *OBJECTS_LAB, *PLATFORM_LAB, *PLATFORM_MORE)


def _where(fault):
    return ("lab" if fault.quick else "lab, slow") + ("" if fault.seen else ", not yet seen")


CONTROLS = (
    *(
        Control(
            f.name,
            check,
            f.text,
            shown(f.verdict, metrics),
            _where(f),
            f"{LAB}::test_a_planted_fault_is_seen",
        )
        for f in FAULTS
        for check, metrics in f.reds.items()
    ),
    Control(
        "blocked",
        "every check",
        "an OSD is stopped",
        "BLOCKED",
        "lab",
        "tests/lab/acceptance/test_acceptance_lab.py::test_a_stopped_osd_blocks_every_check",
    ),
    Control(
        "little-space",
        "preconditions",
        "less free space than twice what is written: a planted answer of `ceph df`, since filling the lab's disks "
        "would fill this machine's",
        "BLOCKED (space)",
        "raw data",
        f"{RAW}/test_space.py::test_too_little_space_blocks_and_says_how_much",
    ),
    Control(
        "memory-jump",
        "A-FS3",
        "the MDS's memory grows by more per file at the series' last point",
        "FAIL (held-out)",
        "raw data",
        f"{RAW}/test_checks_locally.py::test_a_series_that_bends_is_not_held_out",
    ),
    *STORAGE_RAW,
    *OBJECTS,
    *KUBERNETES,
    *CACHE,
    *LOGS,
    *PLATFORM,
    *CIS,
)
