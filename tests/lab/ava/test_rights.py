"""What the operator's account may do on the lab, and what becomes of a deleted group's namespace."""

import time

import pytest

from ava.client import Client
from tests.lab.ava.user_journey import ENDED, SMALL

pytestmark = pytest.mark.lab
OPERATOR = "system:serviceaccount:ava-system:operator"


def may(lab, platform, verb, kind, space):
    reply = lab.sh(
        platform.master, f"kubectl auth can-i {verb} {kind} --namespace {space} --as {OPERATOR} || true"
    )
    return reply.strip().splitlines()[-1] == "yes"


def test_the_operator_reads_secrets_of_groups_alone(day, lab, platform):
    day.succeeded(day.start("any", "print(1)", roles=[{"each": SMALL}]))
    own = f"ava-{day.group}"
    assert may(lab, platform, "get", "secrets", own) and may(lab, platform, "create", "pods", own)
    for space in ("kube-system", "ava-system", "default"):
        for verb, kind in (
            ("get", "secrets"),
            ("list", "secrets"),
            ("create", "pods"),
            ("create", "rolebindings"),
        ):
            assert not may(lab, platform, verb, kind, space), (verb, kind, space)
    assert not may(lab, platform, "create", "rolebindings", own)
    assert not may(lab, platform, "patch", "namespaces", own)


@pytest.mark.slow
def test_the_namespace_of_a_deleted_group_goes_with_all_that_is_in_it(day, lab, platform, authority):
    admin = Client(f"https://{platform.host}", ca=authority)
    admin.login(platform.admin, platform.password)
    name, user = f"g-{platform.admin}", day.user.me().name
    space = f"ava-{name}"
    admin.make_group(name, {"gpu": 0, "cpu": 1000, "memory": 2**30})
    admin.add_member(name, user)
    day.user.set_default_group(name)
    try:
        run = day.start("last", "print(1)", roles=[{"each": SMALL}])
        assert day.until(run, *ENDED).outcome == "succeeded"
    finally:
        day.user.set_default_group(day.group)
    lab.sh(platform.master, f"kubectl create configmap forgotten --namespace {space}")
    admin.remove_member(name, user)
    admin.delete_group(name)
    until = time.monotonic() + 300
    while space in lab.sh(platform.master, "kubectl get namespaces -o name"):
        assert time.monotonic() < until
        time.sleep(3)
    assert f"ava-{day.group}" in lab.sh(platform.master, "kubectl get namespaces -o name")
