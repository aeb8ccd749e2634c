"""A host that Ingresses of two namespaces name, as two API servers asked at once admit it: the older one's alone."""

import time

import pytest

from tests.lab.kubernetes.test_addons import vip
from tests.lab.kubernetes.test_tenants import NAME, SPACES, TRIES, pod, ways
from tests.lab.waiting import wait

pytestmark = pytest.mark.lab


@pytest.fixture
def both(kube, lab, registry):
    """Make a pod, a service and an ingress of one host in two namespaces, the second namespace's some seconds later.

    By the administrator, whom admission does not ask: so it is as if both tenants had passed it at once.
    """
    node = lab.names("worker")[0]
    # The older one's namespace comes last by its name: it is the time that counts.
    older, younger = sorted(SPACES, reverse=True)
    try:
        for space, name in ((older, "older"), (younger, "younger")):
            kube.apply(pod(f"{registry}/avadm/base:12", space, name, node), *ways(space, "ClusterIP"))
            time.sleep(3)
        for space, name in ((older, "older"), (younger, "younger")):
            ready = '{.status.conditions[?(@.type=="Ready")].status}'
            get = f"get pod -n {space} {NAME}-{name} -o jsonpath='{ready}'"
            assert wait(lambda get=get: kube.ctl(get).strip() == "True", 120), name
        yield older
    finally:
        for space in SPACES:
            kube.ctl(f"delete pods,services,ingresses -n {space} -l app={NAME} --ignore-not-found")


def test_a_host_of_two_namespaces_is_the_older_s_until_that_is_gone(kube, lab, both):
    ask = f"curl -s -m 4 -H 'Host: {NAME}.example' http://{vip(lab)}/hostname"
    reply = lambda: lab.run(kube.outside(), ask).stdout.strip()  # noqa: E731
    assert wait(lambda: reply() == f"{NAME}-older", 30)
    # A change of the cluster has the routes recreated: by the order of a map it was another one each time.
    for _ in range(5):
        kube.ctl(f"annotate ingress -n {both} {NAME} --overwrite avadm.test/at={time.time()}")
        time.sleep(3)
        assert {reply() for _ in range(TRIES // 4)} == {f"{NAME}-older"}
    for node in lab.names("ingress"):
        found = lab.run(node, f"journalctl -u traefik -o cat | grep -c 'host {NAME}.example ignored'")
        assert int(found.stdout.strip() or 0) == 1, node
    kube.ctl(f"delete ingress -n {both} {NAME}")
    assert wait(lambda: reply() == f"{NAME}-younger", 30)
