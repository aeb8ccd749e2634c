"""Faults that turn the storage suite's checks red: each changes what the tools print on clients of the unit tests.

They are planted as raw data: what filegen, fio and the tools of block images print goes through the real checks, extraction and
judgement. Those that are planted on the lab are in acceptance.py.
"""

from tests.controls.fault import Fault, controls

TEST = "tests/unit/validation/test_storage_suite.py::test_a_planted_fault_is_seen"

FAULTS = (
    Fault(
        "failed-create",
        "one small file cannot be made",
        "A-FS1",
        ("errors",),
        lambda s: s.failing.update(window=1),
    ),
    Fault(
        "failed-fsync",
        "one small file is made and cannot be brought to the disks (fsync)",
        "A-FS1",
        ("errors",),
        lambda s: s.failing.update(fsync=1),
    ),
    Fault(
        "stuck-writes",
        "of three clients one gets one file of 4 MiB written in each window, and the others none",
        "A-FS2",
        ("write-aggregate",),
        lambda s: s.stuck.add("create"),
    ),
    Fault(
        "failed-read",
        "one large file is read with another content than was written",
        "A-FS2",
        ("errors",),
        lambda s: s.failing.update(read=1),
    ),
    Fault(
        "fewer-made",
        "a client makes fewer files than it should, and says of no error",
        "A-FS4",
        ("made",),
        lambda s: s.short.update(create=1),
    ),
    Fault(
        "failed-stat",
        "one file of the directory cannot be looked at",
        "A-FS4",
        ("errors",),
        lambda s: s.failing.update(stat=1),
    ),
    Fault(
        "not-split",
        "the MDS does not split the directory",
        "A-FS4",
        ("fragments",),
        lambda s: setattr(s, "fragments", 1),
    ),
    Fault(
        "slow-stats",
        "each stat in the directory takes 5 s",
        "A-FS4",
        ("stat-p99",),
        lambda s: s.latency_us.update(stat=5_000_000),
    ),
    Fault(
        "crowded-writes",
        "several clients that write at once write a fiftieth each of what one alone does",
        "A-FS5",
        ("write-scaling",),
        lambda s: s.crowded.add("create"),
    ),
    Fault(
        "crowded-reads",
        "several clients that read at once read a fiftieth each of what one alone does",
        "A-FS5",
        ("read-scaling",),
        lambda s: s.crowded.add("read"),
    ),
    Fault(
        "starved-reader",
        "one of three clients that read reads a hundredth of what each other does",
        "A-FS5",
        ("read-share",),
        lambda s: s.starved.add("read"),
    ),
    Fault(
        "delayed-reads",
        "with several clients a read takes a hundred times as long",
        "A-FS5",
        ("read-p99",),
        lambda s: s.delayed.add("read"),
    ),
    Fault(
        "failed-with-others",
        "with several clients at work one file cannot be made",
        "A-FS5",
        ("errors",),
        lambda s: s.failing.update(window=1),
    ),
    Fault(
        "not-verified",
        "a client leaves out one of the files that it should verify, and says of no error",
        "A-FS5",
        ("verified",),
        lambda s: s.short.update(read=1),
    ),
    Fault(
        "slow-image-writes",
        "each client writes 1 MiB/s to its image",
        "A-BD2",
        ("write",),
        lambda s: s.fio["write"].update(bw_bytes=1 << 20),
    ),
    Fault(
        "image-bends",
        "the last files of the series take ten times the space of the others",
        "A-BD3",
        ("held-out",),
        lambda s: setattr(s, "bends", True),
    ),
    Fault(
        "image-create-fails",
        "one file cannot be made in the image's file system",
        "A-BD3",
        ("errors",),
        lambda s: s.failing.update(create=1),
    ),
    Fault(
        "image-fewer-made",
        "fewer files are made than should be, without an error",
        "A-BD4",
        ("made",),
        lambda s: s.short.update(create=1),
    ),
    Fault(
        "image-stat-fails",
        "one file of the directory cannot be looked at",
        "A-BD4",
        ("errors",),
        lambda s: s.failing.update(stat=1),
    ),
    Fault(
        "image-entry-hidden",
        "readdir does not show one of the files",
        "A-BD4",
        ("missing",),
        lambda s: setattr(s, "hidden", 1),
    ),
    Fault(
        "crowded-image",
        "several clients that read one image at once read a fiftieth each of what one alone does",
        "A-BD5",
        ("scaling",),
        lambda s: s.crowded.add("image"),
    ),
    Fault(
        "starved-image-reader",
        "one of three clients reads next to nothing of the image",
        "A-BD5",
        ("share",),
        lambda s: s.starved.add("image"),
    ),
    Fault(
        "lock-given-twice",
        "the second writer is given the lock that the first one holds",
        "A-BD6",
        ("lock-refused",),
        lambda s: s.during.update(lock="got"),
    ),
    Fault(
        "mark-overwritten",
        "what the first writer wrote is overwritten while it holds the lock",
        "A-BD6",
        ("kept",),
        lambda s: s.hold.update(mark="overwritten"),
    ),
    Fault(
        "lock-kept",
        "the lock stays with the first writer when it has let go",
        "A-BD6",
        ("handed-over",),
        lambda s: s.after.update(lock="EROFS", write="blocked"),
    ),
)

CONTROLS = controls(FAULTS, TEST)
