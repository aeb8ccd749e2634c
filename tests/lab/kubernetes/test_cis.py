"""The CIS suite on the lab: what fails is excepted, each exception is still needed, a planted fault is seen."""

import subprocess

import pytest

from avadm import paths
from avadm_validation.suites.cis.controls import SECTIONS, exceptions
from tests.lab.acceptance.drive import AVADM, accept
from tests.lab.faults.planting import planted

pytestmark = [pytest.mark.lab, pytest.mark.slow]


@pytest.mark.usefixtures("lab")
def test_what_fails_is_excepted_and_no_exception_is_out_of_date():
    status, checks = accept(suite="cis")
    metrics = [m for c in checks.values() for m in c["metrics"]]
    verdicts = {m["name"]: m["verdict"] for m in metrics if m["verdict"]}
    assert list(checks) == [f"CIS-{number}" for number in SECTIONS]
    assert {n: v for n, v in verdicts.items() if v != "PASS"} == dict.fromkeys(exceptions(), "EXCEPTED"), [
        c["reasons"] for c in checks.values()
    ]
    assert status == 0
    folder = max(paths.runs().glob("*-accept")) / "report"
    assert subprocess.run([AVADM, "accept", "verify", folder], check=False).returncode == 0


def test_a_kubeconfig_that_all_users_may_write_is_seen(lab, tried):
    row = tried(
        "negative control", "/root/.kube/config of a master is writable for all", "CIS-1.4 FAIL (1.4.13)"
    )
    with planted(
        lab, "master:0", "cis-kubeconfig", "chmod 666 /root/.kube/config", "chmod 600 /root/.kube/config"
    ):
        status, checks = accept("CIS-1.4", suite="cis")
    (check,) = checks.values()
    failing = [m["name"] for m in check["metrics"] if m["verdict"] == "FAIL"]
    row.came = f"{check['verdict']} ({', '.join(failing)})"
    assert (status, check["verdict"], failing) == (1, "FAIL", ["1.4.13"])
