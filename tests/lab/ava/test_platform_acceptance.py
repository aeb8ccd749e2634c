"""The platform's acceptance on the lab: it passes, its report verifies, and nothing of it is left in Kubernetes."""

import subprocess

import pytest

from avadm import paths
from tests.lab.acceptance.drive import AVADM, accept

pytestmark = pytest.mark.lab
ALL = (*(f"A-SC{n}" for n in (1, 3, 4, 5, 6, 7, 8, 9)), "A-OT1", "A-OT2", "A-OT3")
"""All but A-SC2, whose stops take the longest."""


def test_the_platform_is_judged_through_its_own_interface_and_nothing_is_left(platform, lab):
    status, checks = accept(*ALL, suite="platform")
    assert (status, {c: r["verdict"] for c, r in checks.items()}) == (
        0,
        dict.fromkeys(("A-SC-PRE", *ALL), "PASS"),
    ), {c: r["reasons"] for c, r in checks.items()}
    folder = max(paths.runs().glob("*-accept")) / "report"
    assert subprocess.run([AVADM, "accept", "verify", folder], check=False).returncode == 0
    classes = {c: r["class"] for c, r in checks.items()}
    assert {c for c, kind in classes.items() if kind == "simulated"} == {"A-SC3", "A-SC9"}, (
        "cards are stand-ins"
    )
    look = "kubectl get namespaces -o name | grep -c ava-accept- || true"
    gone = f'for i in $(seq 60); do [ "$({look})" = 0 ] && break; sleep 1; done; {look}'
    assert lab.sh(platform.master, gone).strip() == "0"
