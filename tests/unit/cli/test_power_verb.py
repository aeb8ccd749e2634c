"""`avadm power` as a user types it, and what other verbs say of a site that is down."""

import json
import time

import pytest

from avadm.cluster import health
from avadm.state.power import POWER, PowerNote, PowerState
from avadm.state.site_state import SiteState
from tests.unit.fakes.cli import refusals

NOTE = PowerNote(PowerState.DOWN, "ops@desk", time.time() - 7200, "avadm power down --notice 30m")


@pytest.fixture
def state(tmp_path):
    return SiteState.of(tmp_path / "site.yml", "t")


@pytest.mark.parametrize(
    "words",
    [
        ["down", "--notice", "soon"],
        ["down", "--notice", "8d"],
        ["down", "now"],
        ["up", "--notice", "1h"],
        ["off"],
    ],
    ids=" ".join,
)
def test_words_that_make_no_command_are_usage_errors(avadm, words):
    result = avadm("power", *words)
    assert result.exit_code == 2
    assert "Usage:" in result.output


def test_an_unknown_id_is_no_consent(avadm, nodes, state, monkeypatch):
    monkeypatch.setattr(health, "answering", lambda cluster, names: set())
    nodes.silent |= {"stor1", "stor2", "stor3", "comp1", "comp2"}
    for verb in ("down", "up"):
        [found] = refusals(avadm("power", verb, "--accept", "all"))
        assert (found.check, found.found) == ("accept-unknown", "all")
        silent = refusals(avadm("power", verb))
        assert "power-silent" in {f.check for f in silent}
    assert state.begun() == []


def test_other_verbs_are_refused_and_status_says_why(avadm, nodes, state):
    state.keep_note(POWER, NOTE.note)
    for words in (["apply"], ["maintenance", "end", "stor1"]):
        found = refusals(avadm(*words))[0]
        assert (found.check, "ops@desk" in found.found) == ("powered-down", True)
    shown = json.loads(avadm("status", "--json").stdout)
    # The note is two hours older than this module's import, which may be long ago.
    [power] = shown["power"]
    assert (power["state"], power["user"], power["age_s"] >= 7190) == ("down", "ops@desk", True)
    text = " ".join(avadm("status").output.split())
    assert "The site is powered down since" in text
    assert "by ops@desk: `avadm power up` starts it" in text
    assert "Next `avadm power up` starts the site." in text


def test_a_note_of_another_release_still_says_that_the_site_is_down(avadm, nodes, state):
    state.keep_note(POWER, {"state": "hibernating", "since": "yesterday"})
    [found] = refusals(avadm("apply"))
    assert found.check == "powered-down"
    assert avadm("status").exit_code == 0
