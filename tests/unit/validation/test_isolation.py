"""The list of attacks on other tenants and on the hosts, and the program that tries them."""

import json
import math
import socket
import subprocess
import sys
from collections import defaultdict

import pytest

from avadm_validation.measuring.extract import compute
from avadm_validation.suites.platform import extract_isolation  # noqa: F401 - registers what compute calls
from avadm_validation.suites.platform.isolation import attacker
from avadm_validation.suites.platform.isolation.attack_catalog import (
    CHECKS,
    CONTROLS,
    Attack,
    attacks,
    command,
)

WORDS = defaultdict(lambda: "x", key=7, ingress="comp1", master="mast1")


def tried(*rows):
    """Run the program as a container does; return id to whether it got through."""
    argv = [sys.executable, *command(rows)[1:]]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True)
    return {line["id"]: line["open"] for line in map(json.loads, done.stdout.splitlines())}


def row(how, *with_):
    return Attack(how, "A-SC3", how, "node", with_)


def test_the_list_is_long_its_names_differ_and_each_row_has_a_control():
    found = attacks(WORDS)
    assert len(found) >= 40
    assert len({a.id for a in found}) == len(found)
    assert {a.check for a in found} == set(CHECKS)
    assert {a.control for a in found} == {*CONTROLS, "comp1", "mast1"}
    assert {a.how for a in found} <= set(attacker.TRIES)


def test_a_word_that_no_one_gave_is_no_attack_on_nothing():
    with pytest.raises(KeyError):
        attacks({})


def test_numbers_stay_numbers_and_words_are_filled_in_inside_texts():
    words = defaultdict(lambda: "x", mark="m1", key=12, ingress="a", master="b")
    found = {a.id: a for a in attacks(words)}
    assert found["victim-sysv-memory"].with_ == (12,)
    assert found["victim-root-by-proc"].with_ == ("m1", "/tmp/m1")
    assert found["platform-api-pod"].control == "a"


def test_the_whole_list_fits_the_arguments_of_a_run():
    assert max(map(len, command(attacks(WORDS)))) <= 4096


def test_what_gets_through_is_distinguished_from_what_does_not(tmp_path):
    there = tmp_path / "there"
    there.write_text("x")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = tried(
            Attack("open port", "A-SC3", "connect", "node", ("127.0.0.1", port)),
            Attack("file", "A-SC6", "read", "node", (f"{tmp_path}/none", str(there))),
            Attack("no file", "A-SC6", "read", "node", (f"{tmp_path}/none*",)),
            Attack("folder", "A-SC6", "see", "node", (str(tmp_path),)),
        )
    assert found == {"open port": True, "file": True, "no file": False, "folder": True}
    assert tried(row("connect", "127.0.0.1", port)) == {"connect": False}


def test_what_an_attack_does_to_itself_or_how_it_ends_is_nothing_to_the_next():
    rows = [row("call", "abort"), row("call", "sleep", 60), row("see", "/proc/self")]
    assert tried(*rows[:1], rows[2]) == {"call": False, "see": True}


def test_an_attack_without_an_end_is_ended(monkeypatch):
    monkeypatch.setattr(attacker, "KILLED_S", 1)
    row = {"id": "a", "try": "call", "with": ["sleep", 60]}
    reply = json.loads(attacker.end(row, *attacker.begin(row)))
    assert reply == {
        "id": "a",
        "open": False,
        "ended": False,
        "said": "it had no end in time, or was killed",
    }


def test_what_was_killed_before_its_end_shows_nothing():
    shut = {"id": "look-cards", "open": False, "said": "Shut: 0"}
    listed = {"id": "look-listed", "open": False, "said": "Shut: not more than 0"}
    killed = {**listed, "ended": False, "said": "it had no end in time, or was killed"}
    inputs = {"cards": ["{}\n--\n"], "table": ['{"items": []}'], "tried": [""], "control": [""]}

    def reported(*rows):
        inputs["said"] = inputs["tried"] = ["\n".join(map(json.dumps, rows))]
        params = {"run": "r", "gpu": 0.0, "row": "look-listed", "rows": "look-listed"}
        names = ("ava_cards_differ", "ava_cards_opened", "ava_ways_in")
        return [compute(name, inputs, params) for name in names]

    assert reported(shut, listed) == [0.0, 0.0, 0.0]
    assert all(map(math.isnan, reported(shut, killed)))
