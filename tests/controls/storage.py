"""Faults that turn the storage suite's checks red: each changes what the tools print on clients of the unit tests.

They are planted as raw data: what filegen, fio and the tools of block images print goes through the real checks, extraction and
judgement. Those of ``LAB`` are planted on the lab's nodes.
"""

from tests.controls.control import Act, Fault, LabFault, controls

TEST = "tests/unit/validation/test_storage_suite.py::test_a_planted_fault_is_seen"

FAULTS = (
    Fault("failed-create", "one small file cannot be made", "A-FS1", ("errors",), lambda s: s.failing.update(window=1)),
    Fault("stuck-writes", "of three clients one gets one file of 4 MiB written in each window, and the others none", "A-FS2",
          ("write-aggregate",), lambda s: s.stuck.add("create")),
    Fault("failed-read", "one large file is read with another content than was written", "A-FS2", ("errors",),
          lambda s: s.failing.update(read=1)),
    Fault("fewer-made", "a client makes fewer files than it should, and says of no error", "A-FS4", ("made",),
          lambda s: s.short.update(create=1)),
    Fault("not-split", "the MDS does not split the directory", "A-FS4", ("fragments",), lambda s: setattr(s, "fragments", 1)),
    Fault("slow-stats", "each stat in the directory takes 5 s", "A-FS4", ("stat-p99",),
          lambda s: s.latency_us.update(stat=5_000_000)),
    Fault("crowded-reads", "several clients that read at once read a fiftieth each of what one alone does", "A-FS5",
          ("read-scaling",), lambda s: s.crowded.add("read")),
    Fault("starved-reader", "one of three clients that read reads a hundredth of what each other does", "A-FS5",
          ("read-share",), lambda s: s.starved.add("read")),
    Fault("delayed-reads", "with several clients a read takes a hundred times as long", "A-FS5", ("read-p99",),
          lambda s: s.delayed.add("read")),
    Fault("not-verified", "a client leaves out one of the files that it should verify, and says of no error", "A-FS5",
          ("verified",), lambda s: s.short.update(read=1)),
    Fault("image-bends", "the last files of the series take ten times the space of the others", "A-BD3", ("held-out",),
          lambda s: setattr(s, "bends", True)),
    Fault("image-entry-hidden", "readdir does not show one of the files", "A-BD4", ("missing",),
          lambda s: setattr(s, "hidden", 1)),
    Fault("crowded-image", "several clients that read one image at once read a fiftieth each of what one alone does", "A-BD5",
          ("scaling",), lambda s: s.crowded.add("image")),
    Fault("mark-overwritten", "what the first writer wrote is overwritten while it holds the lock", "A-BD6", ("kept",),
          lambda s: s.hold.update(mark="overwritten")),
)  # fmt: skip

CONTROLS = controls(FAULTS, TEST)

WORK = "/mnt/cephfs/avadm-accept-*"
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

LAB = (
    LabFault(
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
    LabFault(
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
    LabFault(
        "slow-clients",
        "clients send 750 kbit/s at most, queued up to 400 ms (tbf)",
        (Act("client", *slow("750kbit", "16kb", 400)),),
        {"A-FS1": ("create",)},
    ),
    LabFault(
        "slow-storage",
        "storage nodes send 16 Mbit/s at most, queued up to 200 ms (tbf)",
        (Act("osd", *slow("16mbit", "64kb", 200)),),
        {"A-FS2": ("read-aggregate",), "A-BD2": ("read",)},
    ),
    LabFault(
        "late-osds",
        "every OSD waits 0.05 s with each message (ceph's own injection)",
        (Act("mon:0", LATE, PROMPT),),
        {"A-FS1": ("read",), "A-BD1": ("read", "write")},
    ),
    LabFault(
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
    LabFault(
        "file-gone",
        "a file is removed from the directory that is counted",
        (Act("client:1", when_there(f"{WORK}/A-FS4/r0/$(hostname).0.0000000", "rm $f")),),
        {"A-FS4": ("missing",)},
        beside=True,
    ),
    LabFault(
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
    LabFault(
        "other-mkfs",
        "mkfs.ext4 makes fewer inodes and leaves large_dir out (planted on the client's PATH)",
        (Act("client:0", *instead("mkfs.ext4", OTHER_MKFS, "/usr/local/sbin")),),
        {"A-BD3": ("inodes",), "A-BD4": ("large-dir",)},
    ),
    LabFault(
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
    LabFault(
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
    LabFault(
        "objects-spoiled",
        "objects of the shared image are overwritten with zeros below ceph's block layer (rados put)",
        (Act("mon:0", SPOIL),),
        {"A-BD5": ("bad",)},
        beside=True,
    ),
    LabFault(
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
)
