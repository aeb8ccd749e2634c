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


def cluster(enabled, always=None, services=("prometheus",), available=True):
    known = {"enabled_modules": enabled}
    if always is not None:
        known["always_on_modules"] = always
    return FakeCeph(
        {
            "mgr dump": {"available": available},
            "mgr module ls": known,
            "mgr services": dict.fromkeys(services, "http://x"),
        }
    )


def test_nothing_is_done_when_all_is_right():
    ceph = cluster(["prometheus"], always=["balancer"])
    assert module.ensure(ceph, PARAMS) == ([], [])
    assert ceph.done == []


def test_release_13_has_no_modules_that_always_run():
    ceph = cluster(["restful"])
    assert module.ensure(ceph, PARAMS) == (["balancer", "prometheus"], ["restful"])
    assert ceph.done == [
        "mgr module enable balancer",
        "mgr module enable prometheus",
        "mgr module disable restful",
    ]


def test_a_service_that_does_not_come_is_named():
    with pytest.raises(CephError, match="does not offer prometheus"):
        module.ensure(cluster(["prometheus"], ["balancer"], services=()), PARAMS)


def test_no_manager_is_an_error_but_not_in_a_dry_run():
    ceph = cluster([], available=False)
    with pytest.raises(CephError, match="no manager is active"):
        module.ensure(ceph, PARAMS)
    assert module.ensure(ceph, PARAMS, check_mode=True) == (["balancer", "prometheus"], [])
