"""Faults that turn the CIS suite's controls red: each control is broken on one node, as raw data; one on the lab."""

from avadm_validation.suites.cis.controls import controls, exceptions
from tests.controls.control import Control

TEST = "tests/unit/validation/test_cis.py::test_a_node_that_breaks_a_control_does_not_comply"

CONTROLS = (
    Control(
        "cis-kubeconfig",
        "CIS-1.4",
        "/root/.kube/config of a master is writable for all",
        "FAIL (1.4.13)",
        "lab, slow",
        "tests/lab/kubernetes/test_cis.py::test_a_kubeconfig_that_all_users_may_write_is_seen",
    ),
    *(
        Control(
            c.id,
            f"CIS-{c.section}",
            f"one node does not keep to {c.id}, {c.title}; wanted: {c.wanted}",
            f"{'EXCEPTED' if c.id in exceptions() else 'FAIL'} ({c.id})",
            "raw data",
            TEST,
        )
        for c in controls().values()
        if c.scored
    ),
)
