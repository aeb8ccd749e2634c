"""Faults that turn acceptance checks red (acceptance.md 2.3.9): what is planted where, and what must come of it.

A fault is planted before the check runs and taken away after it, or (``beside``) done once while it runs, to what the
check itself made. Nodes are named by role: ``client`` all of them, ``client:0`` the first.
"""

from tests.controls import cache, cis, kubernetes, logs, objects, platform, storage
from tests.controls.control import Control, shown

LAB = "tests/lab/acceptance/test_negative_controls.py"
RAW = "tests/unit/validation"
FAULTS = tuple(f for part in (storage, kubernetes, objects, platform) for f in part.LAB)


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
    *(c for part in (storage, objects, kubernetes, cache, logs, platform, cis) for c in part.CONTROLS),
)
