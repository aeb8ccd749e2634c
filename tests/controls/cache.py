"""Faults of the cache, planted as raw data: what nodes and workers answer goes through the real checks and judgement."""

from tests.controls.control import Fault, controls

TEST = "tests/unit/validation/test_cache_suite.py::test_a_planted_fault_is_seen"

FAULTS = (
    Fault("no-leader", "no master leads", "A-AL-PRE", ("workers",), lambda c: setattr(c, "led", False), "BLOCKED"),
    Fault("folder-not-mount", "one client's mount point is an ordinary folder, which takes what is written to it", "A-AL-PRE",
          ("unmounted",), lambda c: c.folders.add("c1"), "BLOCKED"),
    Fault("not-cached", "the second read comes from the under store again", "A-AL-HIT", ("hits", "misses"),
          lambda c: setattr(c, "caches", False)),
    Fault("no-counters", "a worker's page has no counters, so that the source of the second read is unknown", "A-AL-HIT",
          ("hits", "misses"), lambda c: c.silent.add("c2"), "INCONCLUSIVE"),
    Fault("other-bytes", "one byte of a cached file is not what was written", "A-AL-HIT", ("wrong",),
          lambda c: setattr(c, "spoils", "read-cephfs-small-1")),
    Fault("never-seen-s3", "the changed object of a bucket is never seen, the changed file of cephfs is", "A-AL-CHANGE",
          ("late",), lambda c: setattr(c, "object_is_lost", True)),
    Fault("half-old", "the changed file is read with bytes of the old one", "A-AL-CHANGE", ("mixed",),
          lambda c: setattr(c, "mixes", True)),
    Fault("unread-before-s3", "the object could not be read before it was changed, so that nothing old was in the cache",
          "A-AL-CHANGE", ("unread",), lambda c: setattr(c, "loses", "read-one-s3")),
    Fault("never-evicts", "nothing is evicted, though more was read than the cache holds", "A-AL-EVICT", ("evicted",),
          lambda c: setattr(c, "evicts", False)),
    Fault("overfull", "a worker holds more than its capacity", "A-AL-EVICT", ("full",), lambda c: setattr(c, "used", 1.2)),
    Fault("gone-after-eviction", "a file that was evicted cannot be read any more", "A-AL-EVICT", ("failed",),
          lambda c: setattr(c, "loses", "read-fill")),
    *(
        fault
        for kind, check in (("worker", "A-AL-LOST-WORKER"), ("master", "A-AL-LOST-MASTER"))
        for fault in (
            Fault(f"no-reads-without-{kind}", f"a file cannot be read any more after the loss of the {kind}", check,
                  ("failed-at-end",), lambda c: setattr(c, "loses", "read-lost")),
            Fault(f"{kind}-not-killed", f"the {kind} did not die, so that nothing was tried", check, ("killed",),
                  lambda c: setattr(c, "immortal", True)),
        )
    ),
)  # fmt: skip

CONTROLS = controls(FAULTS, TEST)
