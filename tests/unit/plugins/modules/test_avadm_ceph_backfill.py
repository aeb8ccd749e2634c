"""avadm_ceph_backfill: what the program set and its key go where a node has its configuration, and there alone."""

import pytest

from tests.unit.fakes.running import module, stub


@pytest.fixture
def node(tmp_path):
    env = stub(tmp_path / "bin/program", f'echo "program $*" >> {tmp_path}/calls; exit $(cat {tmp_path}/rc)')
    stub(tmp_path / "bin/ceph", f'echo "ceph $*" >> {tmp_path}/calls')
    (tmp_path / "rc").write_text("0")
    (tmp_path / "calls").write_text("")

    def bring(withdraw, **more):
        given = {"program": str(tmp_path / "bin/program"), "config": str(tmp_path / "config")}
        return module("avadm_ceph_backfill", env, withdraw=withdraw, **given, **more)

    bring.folder = tmp_path
    bring.calls = lambda: (tmp_path / "calls").read_text().splitlines()
    return bring


def test_a_node_without_limits_is_left_alone(node):
    assert [node(what)[0]["changed"] for what in ("limits", "key")] == [False, False]
    assert node.calls() == []


def test_limits_go_by_the_program_and_the_key_by_ceph(node):
    config = node.folder / "config"
    config.write_text("{}")
    assert [node(what)[0]["changed"] for what in ("limits", "key")] == [True, True]
    assert node.calls() == [
        f"program {config} --withdraw",
        "ceph --connect-timeout 20 auth rm client.avadm-backfill",
    ]


def test_a_refusal_fails_with_what_was_asked(node):
    (node.folder / "config").write_text("{}")
    (node.folder / "rc").write_text("1")
    found, _ = node("limits")
    assert found["failed"] and "--withdraw: exit status 1" in found["msg"]
