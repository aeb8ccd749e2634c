"""avadm_ceph_settings: what is set on running daemons, and what waits for a restart."""

import json

import pytest
from avadm_ceph_settings import Settings, plain, wanted

MON = "/var/run/ceph/ceph-mon.a.asok"


class Daemon:
    """A daemon's socket; `fixed` options are taken only at its start, `unobserved` ones stored until then."""

    def __init__(self, fixed=(), unobserved=(), **options):
        self.options, self.fixed, self.unobserved, self.sent = options, fixed, unobserved, []

    def __call__(self, path, prefix, var=None, val=None):
        if prefix == "config show":
            return json.dumps(self.options)
        if prefix == "config get":
            return json.dumps({var: self.options[var]})
        self.sent.append((var, *val))
        if var in self.fixed:
            return "ERROR: (1) Operation not permitted"
        self.options[var] = val[0]
        if var in self.unobserved:
            return json.dumps({"success": f"{var} = '{val[0]}' (not observed, change may require restart) "})
        return json.dumps({"success": f"{var} = '{val[0]}'"})


def run(daemon, config, check_mode=False, paths=(MON,)):
    work = Settings(daemon, config, check_mode)
    work.ensure(paths)
    return work


def test_what_is_right_in_another_spelling_is_left_alone():
    daemon = Daemon(drift="0.050000", delete="false", size="2")
    work = run(daemon, {"mon": {"drift": 0.05, "delete": False}, "global": {"size": 2}})
    assert daemon.sent == []
    assert (work.set, work.restart, work.unknown) == ([], [], [])


def test_what_differs_is_set():
    daemon = Daemon(warn="30", delete="true")
    work = run(daemon, {"mon": {"warn": 10, "delete": False}})
    assert daemon.sent == [("delete", "false"), ("warn", "10")]
    assert work.set == ["mon.a: delete = false (was true)", "mon.a: warn = 10 (was 30)"]


def test_what_needs_a_restart_is_named():
    work = run(Daemon(fixed=("net",), net="10.0.0.0/24"), {"global": {"net": "10.0.0.0/16"}})
    assert work.set == []
    assert work.restart == ["mon.a: net = 10.0.0.0/16 (runs with 10.0.0.0/24)"]


def test_what_is_stored_and_not_looked_at_waits_for_a_restart_too():
    work = run(Daemon(unobserved=("threads",), threads="2"), {"mon": {"threads": 4}})
    assert work.set == ["mon.a: threads = 4 (was 2)"]
    assert work.restart == ["mon.a: threads = 4 (runs with 2)"]


def test_a_value_that_ceph_writes_otherwise_is_no_change_forever():
    class Memory(Daemon):
        def __call__(self, path, prefix, var=None, val=None):
            return super().__call__(path, prefix, var, ["4294967296"] if val else None)

    work = run(Memory(memory="4294967296"), {"mon": {"memory": "4G"}})
    assert (work.set, work.restart) == ([], [])


def test_unknown_options_are_named():
    assert run(Daemon(), {"mon": {"mon_typo": 1}}).unknown == ["mon.a: mon_typo"]


def test_a_dry_run_sets_nothing():
    daemon = Daemon(warn="30")
    assert run(daemon, {"mon": {"warn": 10}}, check_mode=True).set == ["mon.a: warn = 10 (was 30)"]
    assert daemon.sent == []


def test_dead_sockets_and_clients_are_passed_over():
    def dead(path, **_command):
        raise OSError("refused")

    assert run(dead, {"mon": {"warn": 10}}, paths=[MON, "/var/run/ceph/ceph-client.x.asok"]).set == []


@pytest.mark.parametrize(("name", "value"), [("a", 3), ("b", 2)])
def test_the_nearest_section_wins(name, value):
    config = {"global": {"x": 1}, "mon": {"x": 2}, "mon.a": {"x": 3}, "osd": {"x": 4}}
    assert wanted(config, "mon", name) == {"x": value}


def test_where_an_osd_hangs_is_no_running_setting():
    assert wanted({"osd": {"crush_location": "rack=r1"}}, "osd", "0") == {}


def test_plain_values():
    assert plain(True) == plain("true") == plain("1")
    assert plain("0.05") == plain("0.050000")
    assert plain(" a,b ") == "a,b"
