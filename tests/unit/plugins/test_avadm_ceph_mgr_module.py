"""avadm_ceph_mgr_module: what is enabled, disabled and waited for."""

import avadm_ceph_mgr_module as module
import pytest
from ansible.module_utils.avadm_ceph import CephError
from fake_ceph import FakeCeph

PARAMS = {
    "enabled": ["balancer", "prometheus"],
    "disabled": ["restful"],
    "services": ["prometheus"],
    "timeout": 0,
}
SWITCH_ON = ["osd set-require-min-compat-client luminous", "balancer mode upmap", "balancer on"]


def cluster(enabled, always=None, services=("prometheus",), available=True, active=True, mode="upmap"):
    known = {"enabled_modules": enabled}
    if always is not None:
        known["always_on_modules"] = always
    return FakeCeph(
        {
            "mgr dump": {"available": available},
            "mgr module ls": known,
            "mgr services": dict.fromkeys(services, "http://x"),
            "balancer status": {"active": active, "mode": mode, "plans": []},
        }
    )


def test_nothing_is_done_when_all_is_right():
    ceph = cluster(["prometheus"], always=["balancer"])
    assert module.ensure(ceph, PARAMS) == ([], [], False)
    assert ceph.done == []


def test_release_13_has_no_modules_that_always_run():
    ceph = cluster(["restful"], active=False, mode="none")
    assert module.ensure(ceph, PARAMS) == (["balancer", "prometheus"], ["restful"], True)
    assert ceph.done == [
        "mgr module enable balancer",
        "mgr module enable prometheus",
        "mgr module disable restful",
        *SWITCH_ON,
    ]


@pytest.mark.parametrize(("active", "mode"), [(False, "none"), (False, "upmap"), (True, "none")])
def test_an_idle_balancer_is_switched_on(active, mode):
    ceph = cluster(["prometheus"], ["balancer"], active=active, mode=mode)
    assert module.ensure(ceph, PARAMS, check_mode=True) == ([], [], True)
    assert ceph.done == []
    assert module.ensure(ceph, PARAMS) == ([], [], True)
    assert ceph.done == SWITCH_ON


@pytest.mark.parametrize(
    ("balancer", "enabled"),
    [({"active": False}, ["prometheus"]), ({"mode": "crush-compat"}, PARAMS["enabled"])],
    ids=["not configured", "in a mode of the site's own"],
)
def test_a_balancer_is_left_alone(balancer, enabled):
    ceph = cluster(["prometheus"], ["balancer"], **balancer)
    assert module.ensure(ceph, {**PARAMS, "enabled": enabled}) == ([], [], False)
    assert ceph.done == []


def test_a_balancer_that_does_not_answer_is_an_error():
    ceph = cluster(["prometheus"], ["balancer"])
    del ceph.answers["balancer status"]
    with pytest.raises(CephError, match="balancer status"):
        module.ensure(ceph, PARAMS)


def test_a_service_that_does_not_come_is_named():
    with pytest.raises(CephError, match="does not offer prometheus"):
        module.ensure(cluster(["prometheus"], ["balancer"], services=()), PARAMS)


def test_no_manager_is_an_error_but_not_in_a_dry_run():
    ceph = cluster([], available=False)
    with pytest.raises(CephError, match="no manager is active"):
        module.ensure(ceph, PARAMS)
    assert module.ensure(ceph, PARAMS, check_mode=True) == (["balancer", "prometheus"], [], True)
