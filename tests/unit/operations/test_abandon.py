"""`avadm operation abandon`: what was set is undone and the record dropped, and never where the site must not stay half-way."""

import json
import time
from dataclasses import replace
from typing import ClassVar

import pytest

from avadm.cluster import settings as settings_module
from avadm.cluster.half_done import half_done
from avadm.cluster.setting import Setting
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.operations import abandon, run
from avadm.operations.model import Operation, Step
from avadm.site.load import load
from avadm.state.operations import OPERATION, OperationRecord, SettingRecord
from avadm.state.site_state import SiteState
from tests.unit.fakes.nodes import Nodes, answer
from tests.unit.operations.cache_room import SITE

ADD = OperationRecord(
    "avadm node add comp9 --address 10.9.0.29", "node add", ("base",), time.time() - 60, "ops@desk"
)
UPGRADE = replace(
    ADD, command="avadm upgrade ceph --to new", verb="upgrade", components=("ceph",), steps=("mon",)
)
CACHE = replace(
    ADD, command="avadm cache masters comp1 comp2 comp3", verb="cache masters", components=("cache",)
)


class Flag(Setting):
    kind: ClassVar[str] = "flag"
    undone: ClassVar[list[str]] = []
    broken: ClassVar[bool] = False

    def held(self, cluster):
        return True

    def set(self, cluster):
        pass

    def unset(self, cluster):
        if self.broken:
            raise AvadmError(Finding("ceph-command", "no monitor answers"))
        self.undone.append(self.target)


class Room(Nodes):
    """Nodes whose ceph and cache answer as they are given; None: they do not."""

    versions: ClassVar[dict[str, int] | None] = {"ceph version 16.2.15": 9}
    cache = None

    def run(self, node, command, *, timeout=60.0, stdin=None):
        if " ceph --connect-timeout" in command:
            if self.versions is None:
                return answer(node, command, rc=1, err="timed out")
            return answer(node, command, json.dumps({"overall": self.versions}))
        if command.startswith("/usr/local/sbin/avadm-alluxio"):
            return answer(
                node, command, self.cache or "", rc=int(self.cache is None), err="no master answers"
            )
        return super().run(node, command, timeout=timeout, stdin=stdin)

    def map(self, commands, *, timeout=60.0, stdin=None):
        return {node: self.run(node, line, timeout=timeout, stdin=stdin) for node, line in commands.items()}


class Site:
    def __init__(self, folder):
        self.path, self.room, self.lines = folder / "site.yml", Room(folder / "nodes"), []
        self.path.write_text(SITE)

    @property
    def state(self):
        return SiteState.of(self.path, "t")

    def begun(self, *records):
        """Have operations half done, as killed commands leave them; through the lock, so that all copies have them."""

        def build(cluster):
            def act(tell):
                for one in records:
                    cluster.state.keep_operation(one)

            return Operation("test", "avadm test", [Step("plant", act)])

        run.run(load(self.path), self.room, build, (), lambda line: None)

    def build(self, words, accepted=()):
        return lambda cluster: abandon.build(cluster, words, accepted)

    def plan(self, words=""):
        return run.plan(load(self.path), self.room, self.build(words))

    def refusals(self, words=""):
        return {one.check for one in self.plan(words).refusals}

    def abandon(self, words="", accepted=()):
        return run.run(load(self.path), self.room, self.build(words, accepted), accepted, self.lines.append)


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.setitem(settings_module.KINDS, "flag", Flag)
    monkeypatch.setattr(Flag, "broken", False)
    Flag.undone.clear()
    return Site(tmp_path)


def commands(site):
    return [one.command for one in site.state.begun()]


def test_an_addition_whose_node_is_lost_is_given_up_and_blocks_nothing_more(site):
    site.begun(ADD)
    assert half_done(site.state, {"base"})
    site.abandon("node add comp9")
    assert commands(site) == []
    assert half_done(site.state, {"base"}) == []


def test_the_plan_shows_what_was_done_and_what_was_not(site):
    def fails(tell):
        raise AvadmError.of("follow-failed", found="base")

    def build(cluster):
        return Operation(
            "node add", "avadm node add x", [Step("bootstrap", lambda tell: None), Step("apply", fails)]
        )

    with pytest.raises(AvadmError):
        run.run(load(site.path), site.room, build, (), lambda line: None)
    text = "\n".join(run.show(site.plan()))
    assert "what was done: bootstrap" in text
    assert "leave undone, in part where a step was at work: apply" in text


def test_its_temporary_settings_are_undone_first_and_what_cannot_be_undone_keeps_it(site):
    site.begun(ADD)
    state = site.state
    state.keep_setting(SettingRecord("flag", "stor1", OPERATION + ADD.command, time.time()))
    Flag.broken = True
    with pytest.raises(AvadmError):
        site.abandon()
    assert commands(site) == [ADD.command]
    Flag.broken = False
    site.abandon()
    assert Flag.undone == ["stor1"]
    assert commands(site) == []
    assert site.state.settings() == []


def test_an_operation_with_steps_done_needs_its_id_accepted(site):
    removal = replace(ADD, command="avadm node remove stor3", verb="node remove", steps=("empty osd.2",))
    site.begun(removal)
    assert site.refusals() == {"abandon-half-way"}
    with pytest.raises(AvadmError):
        site.abandon()
    site.abandon(accepted=("abandon-half-way",))
    assert commands(site) == []


@pytest.mark.parametrize(
    ("versions", "refused"),
    [
        ({"ceph version 16.2.15": 4, "ceph version 18.2.7": 5}, True),
        (None, True),
        ({}, True),
        ({"ceph version 16.2.15": 9}, False),
    ],
)
def test_mixed_or_unknown_versions_of_ceph_refuse_whatever_is_accepted(site, monkeypatch, versions, refused):
    monkeypatch.setattr(Room, "versions", versions)
    site.begun(UPGRADE)
    assert ("abandon-mixed-ceph" in site.refusals()) is refused
    if refused:
        with pytest.raises(AvadmError):
            site.abandon(accepted=("abandon-half-way",))
        assert commands(site) == [UPGRADE.command]


def test_a_cache_whose_masters_stand_still_refuses(site, monkeypatch):
    site.begun(CACHE)
    assert "abandon-cache" in site.refusals()
    monkeypatch.setattr(Room, "cache", "/a on /b (local)")
    assert "abandon-cache" not in site.refusals()


@pytest.mark.parametrize("verb", ["maintenance begin", "power down", "node drain"])
def test_a_verb_with_a_way_back_of_its_own_names_it(site, verb):
    site.begun(replace(ADD, command=f"avadm {verb} comp1", verb=verb))
    [bad] = site.plan().refusals
    assert bad.check == "abandon-other-way"
    assert "avadm " in bad.remedy


def test_which_operation_is_meant_must_be_clear(site):
    assert site.refusals() == {"abandon-unknown"}
    site.begun(ADD, UPGRADE)
    assert site.refusals() == {"abandon-unknown"}
    assert site.refusals("node add comp") == {"abandon-unknown"}
    assert site.refusals("node add") == set()
    assert site.refusals(ADD.command) == set()
    assert "abandon-half-way" in site.refusals("upgrade ceph")
