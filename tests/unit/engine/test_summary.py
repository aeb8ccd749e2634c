import re
from pathlib import Path

import pytest

from avadm import paths
from avadm.engine import known_errors
from avadm.engine.known_errors import FALLBACK, remedy
from avadm.engine.summary import Summary
from avadm.remote.events import Event, Kind


def event(kind, phase="ceph", **more):
    return Event(1.0, phase, kind, **more)


def phase(*events, state="done", **stats):
    """Return the summary of a phase with these events, and hosts to what ansible counted."""
    start, end = Kind.PHASE_START, Kind.PHASE_END
    counted = event(Kind.STATS, stats=stats)
    return Summary(
        [event(start, hosts=tuple(stats)), *events, counted, event(end, message=state, seconds=2.0)]
    )


def test_counts_are_those_of_ansibles_stats():
    summary = phase(a={"ok": 3, "changed": 1}, b={"ok": 2})
    assert summary.result == "good"
    assert summary.changed == 1
    data = summary.as_dict()
    assert data["hosts"]["a"] == {"ok": 3, "changed": 1, "failed": 0, "unreachable": 0, "skipped": 0}
    assert data["phases"][0]["ok"] == 5


def test_a_failure_has_phase_host_task_error_and_remedy():
    failed = event(Kind.FAILED, host="a", task="base : apt", message="Could not get lock /var/lib/dpkg/lock")
    summary = phase(failed, state="failed", a={"failed": 1})
    (found,) = summary.as_dict()["failures"]
    assert (found["phase"], found["host"], found["task"]) == ("ceph", "a", "base : apt")
    assert "holds the lock on a" in found["remedy"]


def test_a_rescued_failure_does_not_stand():
    summary = phase(event(Kind.FAILED, host="a", task="try", message="x"), a={"ok": 1, "rescued": 1})
    assert summary.failures == []
    assert summary.result == "good"


def test_a_host_that_is_dead_makes_a_phase_that_is_done_a_bad_run():
    dead = event(Kind.UNREACHABLE, host="b", task="t", message="timed out")
    summary = phase(dead, a={"ok": 1}, b={"unreachable": 1})
    assert summary.dead == ["b"]
    assert summary.result == "failed"


def test_a_playbook_that_did_not_start_is_reported_in_ansibles_words():
    summary = Summary(
        [
            event(Kind.PHASE_START, hosts=("a",)),
            event(Kind.LOG, message="[WARNING]: old"),
            event(Kind.LOG, message="ERROR! the role 'x' was not found"),
            event(Kind.PHASE_END, message="failed", seconds=1.0),
        ]
    )
    (failure,) = summary.failures
    assert failure.host is None
    assert failure.message == "the role 'x' was not found"


def test_errors_of_the_versions_check_are_reported_beside_a_dead_host_with_their_own_remedy():
    summary = phase(
        event(Kind.UNREACHABLE, host="b", task="t", message="timed out"),
        event(Kind.CHECK, host="a", message="ceph differs.", remedy="Finish the upgrade."),
        state="failed",
        a={"ok": 1},
        b={"unreachable": 1},
    )
    assert [(f.host, f.task) for f in summary.failures] == [("b", "t"), ("a", "versions check")]
    assert summary.failures[1].remedy == "Finish the upgrade."


def test_a_dead_host_has_its_remedy_whatever_the_words():
    dead = event(Kind.UNREACHABLE, host="b", task="t", message="gone fishing")
    assert "power, network and sshd of b" in phase(dead, b={"unreachable": 1}).failures[0].remedy


def test_the_slowest_tasks_come_first_and_are_few():
    events = [event(Kind.OK, host="a", task=f"t{i}", seconds=float(i)) for i in range(50)]
    slowest = Summary(events).slowest
    assert [row["task"] for row in slowest[:2]] == ["t49", "t48"]
    assert len(slowest) == 20


def test_a_task_is_among_the_slowest_once_with_its_slowest_host():
    events = [event(Kind.OK, host=h, task="t", seconds=s) for h, s in (("a", 1.0), ("b", 3.0), ("c", 2.0))]
    assert Summary(events).slowest == [{"phase": "ceph", "task": "t", "host": "b", "seconds": 3.0}]


def test_what_changed_where_is_reported():
    events = [event(Kind.CHANGED, host=h, task="t", seconds=1.0) for h in "ab"]
    assert Summary(events).changes == [{"phase": "ceph", "task": "t", "hosts": ["a", "b"]}]


def test_a_run_of_which_nothing_is_known_is_not_good():
    assert Summary([event(Kind.PHASE_START, hosts=("a",))]).result == "failed"


# What the tools really say, from runs on containers and from the tools' sources.
MESSAGES = {
    "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1": "holds the lock",
    "Host key checking is enabled, and SSH reported an unrecognized or mismatching host key.": "host key",
    "Host key verification failed.": "host key",
    "EOF on stream; last 100 lines received:\nssh: connect to host a port 22: No route to host": "power",
    "ssh: connect to host 10.0.0.1 port 22: Connection refused": "power",
    "Connection timed out during banner exchange": "power",
    "root@10.0.0.1: Permission denied (publickey).": "controller's key",
    "root@10.0.0.1: Permission denied (publickey,password).": "controller's key",
    "SSH authentication is incorrect": "controller's key",
    "Connection closed by 10.0.0.1 port 22": "power",
    "client_loop: send disconnect: Broken pipe": "power",
    "Missing sudo password": "sudo",
    "/bin/sh: 1: /usr/bin/python3: not found": "Python is missing",
    "[Errno 28] No space left on device": "is full",
    "E: You don't have enough free space in /var/cache/apt/archives/.": "is full",
    "No package matching 'ceph-osd' is available": "package source",
    "E: Unable to locate package ceph": "package source",
    "E: Failed to fetch http://deb/x  Unable to connect to 10.0.0.2:3142:": "cannot reach its package source",
    "/dev/sdb is not blank: it holds an ext4 file system": "disk was refused",
    "Decryption failed (no vault secrets were found that could decrypt)": "vault",
    "'ceph_fsid' is undefined": "mistake in avadm",
    "exit status 0: Unknown Kubelet stopped posting node status.": "`journalctl -u kubelet` there",
}


@pytest.mark.parametrize(("message", "wanted"), MESSAGES.items())
def test_known_errors_have_their_remedy(message, wanted):
    assert wanted in remedy("n1", message)


# Errors of what runs on a node that is reached well: no advice about ssh.
@pytest.mark.parametrize(
    "message",
    [
        "avadm_ceph_auth failed: exit status 22",
        "authorization of client.rbd failed: caps are incorrect",
        "[Errno 13] Permission denied: '/etc/ceph/ceph.client.admin.keyring'",
        "Timed out waiting for HEALTH_OK",
        "Status code was -1: <urlopen error [Errno 111] Connection refused>",
        "osd.3 is unreachable",
    ],
)
def test_errors_that_are_not_of_ssh_get_no_advice_about_it(message):
    assert remedy("n1", message) == FALLBACK


def test_every_document_that_a_remedy_names_exists():
    text = (Path(known_errors.__file__).parent / "remedies.yml").read_text()
    named = re.findall(r"docs/[\w/-]+\.md", text)
    assert named
    assert all((paths.home() / name).is_file() for name in named)


def test_a_remedy_names_the_host():
    assert "--limit n1`" in remedy("n1", "Host key verification failed.")


def test_an_unknown_error_points_at_the_log():
    assert remedy("n1", "", "flux capacitor empty") == FALLBACK
