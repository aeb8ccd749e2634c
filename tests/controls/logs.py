"""Faults that turn the logs suite's checks red: raw data, and a shipper that is stopped on the lab."""

from tests.controls.control import Control, Fault, controls

TEST = "tests/unit/validation/test_log_suite.py::test_a_planted_fault_is_seen"
LAB = "tests/lab/logs/test_log_acceptance.py::"

FAULTS = (
    Fault(
        "log-line-missing",
        "one store lacks one line of each node",
        "A-LOG-ARRIVE",
        ("missing", "latest"),
        lambda logs: logs.lost.add(("s2", 1)),
    ),
    Fault(
        "log-line-missing-down",
        "while one store is down the other lacks one line of each node",
        "A-LOG-LOSS",
        ("missing-down",),
        lambda logs: logs.lost.add(("s2", 1)),
    ),
    Fault(
        "log-line-missing-back",
        "the store that was down is back and lacks one line of each node",
        "A-LOG-LOSS",
        ("missing-back",),
        lambda logs: logs.lost.add(("s1", 1)),
    ),
)

CONTROLS = (
    *controls(FAULTS, TEST),
    Control(
        "log-shipper-stopped",
        "A-LOG-ARRIVE",
        "the shipper of one node is stopped",
        "FAIL (missing)",
        "lab, slow",
        LAB + "test_a_node_that_sends_nothing_is_seen",
    ),
    Control(
        "log-buffer-gone",
        "A-LOG-LOSS",
        "one node does not reach the store that stays up",
        "FAIL (missing-down)",
        "lab, slow",
        LAB + "test_a_node_that_sends_to_one_store_alone_is_seen",
    ),
)
