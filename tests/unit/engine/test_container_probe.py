"""What the probe says of etcd's access and Calico's pool."""

import json
from collections.abc import Callable

import pytest

from avadm_node.probes.drift import containers
from avadm_node.probes.drift.containers import Containers

REFUSED = "Error: etcdserver: authentication failed, invalid user ID or password"


def etcdctl(*argv: str, refused: str = REFUSED) -> str:
    words = argv[2:]
    if words[0] == "--user":
        if refused:
            raise OSError(refused)
        return ""
    return {"list": "root\ncalico\n", "get": f"{words[0]} {words[-1]}\n  Roles: x\n"}[words[1]]


def asked(monkeypatch: pytest.MonkeyPatch, call: Callable[..., str]) -> Containers:
    monkeypatch.setattr(containers, "call", call)
    return Containers()


def test_who_may_what_in_etcd_is_a_value_and_open_doors_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    value = asked(monkeypatch, etcdctl).access("etcd")
    assert value.startswith("user user calico Roles: x; user user root")
    for error in ("Error: etcdserver: authentication is not enabled", ""):
        probe = asked(monkeypatch, lambda *argv, error=error: etcdctl(*argv, refused=error))
        assert probe.access("etcd") == "!authentication is off"
    with pytest.raises(OSError, match="deadline"):
        asked(monkeypatch, lambda *argv: etcdctl(*argv, refused="context deadline exceeded")).access("etcd")


def test_a_pool_s_settings_are_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = asked(monkeypatch, lambda *argv: json.dumps({"spec": {"natOutgoing": True, "cidr": argv[3]}}))
    assert probe.ippool("pods") == '{"cidr": "pods", "natOutgoing": true}'
