"""Faults that turn the logs suite's checks red: raw data, and a shipper that is stopped on the lab."""

from tests.controls.control import Control

RAW = "tests/unit/validation/test_log_suite.py::test_a_line_that_one_store_lacks_is_missing_and_late"
LAB = "tests/lab/logs/test_log_acceptance.py::"

CONTROLS = (
    Control(
        "log-line-missing",
        "A-LOG-ARRIVE",
        "one store lacks one line",
        "FAIL (missing, latest)",
        "raw data",
        RAW,
    ),
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
