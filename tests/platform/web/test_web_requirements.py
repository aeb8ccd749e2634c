"""What users and administrators are promised (U1 to U9), done in a real browser in both languages, by what pages say there.

U7, groups' folders inside of a pod, is a thing of pods: tests/lab/ava/test_folders.py. JupyterLab and ssh (U3) end here at
the link and the command; tests/lab/ava has them to their end.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from ava.domain.labels import pod
from ava.domain.model import Outcome, PodState
from ava.domain.phrases import Phrase
from ava.domain.problems import Problem
from ava.services.logs.interface import LogLine
from ava.web.i18n import Translator
from tests.platform.web.conftest import Town, apart
from tests.unit.ava.web.sample_site import KEY

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("language", ["en", "zh"])]


class Reader:
    """A browser with the words that its language has."""

    def __init__(self, town: Town, name: str, language: str) -> None:
        self.town, self.say = town, Translator(language)
        self.page: Page = town.log_in(name, language)
        self.page.on("dialog", lambda dialog: dialog.accept())

    def fill(self, **fields: str) -> None:
        """Fill fields by their English labels."""
        for label, text in fields.items():
            self.field(label).fill(text)

    def field(self, label: str) -> Locator:
        return self.page.get_by_label(self.say(label), exact=True)

    def press(self, label: str) -> None:
        self.page.get_by_role("button", name=self.say(label), exact=True).first.click()

    def made(self, path: str, name: str) -> str:
        """Send the form of a page with a name and an image; return the run."""
        self.page.goto(path)
        self.fill(Name=name, Image="registry.local/torch:2")
        self.press("Save and start")
        self.page.wait_for_url("**/runs/*")
        return self.page.url.rpartition("/")[2].partition("?")[0]

    def state(self, name: str, state: str) -> None:
        """Expect a run's state, which pages show within seconds."""
        expect(self.page.get_by_role("heading", name=name)).to_contain_text(self.say(state))


def test_u1_an_administrator_manages_groups_and_sees_what_each_uses(town: Town, language: str) -> None:
    root = Reader(town, "root2", language)
    root.page.goto("/admin/groups")
    expect(root.page.get_by_role("row").filter(has_text="vision")).to_contain_text("3 / 8")
    root.fill(Name="robots", GPUs="4")
    root.page.locator("#f-cpu").fill("16")
    root.page.locator("#f-storage").fill("100")
    root.press("Make the group")
    expect(root.page.locator("main")).to_contain_text("100 GiB")
    root.page.locator("input[name=user]").fill("eve")
    root.press("Add")
    expect(root.page.get_by_role("row").filter(has_text="eve")).to_be_visible()
    assert (town.served.db.groups.get("robots").quota.gpu, town.served.db.groups.get("robots").quota.cpu) == (
        4,
        16_000,
    )
    root.page.locator("#f-gpu").fill("2")
    root.press("Save")
    expect(root.page.locator("main .shares").first).to_contain_text("2")
    root.page.get_by_role("row").filter(has_text="eve").get_by_role("button").click()
    root.press("Delete")
    expect(root.page.get_by_role("status")).to_have_text(root.say("It is deleted."))


def test_u2_data_sets_are_made_shared_listed_and_deleted(town: Town, language: str) -> None:
    ann = Reader(town, "ann", language)
    ann.page.goto("/data")
    ann.fill(Name="faces")
    ann.press("Make the data set")
    ann.page.locator("form[action$='/share'] input[name=name]").fill("ben")
    ann.press("Share")
    expect(ann.page.get_by_role("status")).to_have_text(ann.say("It is shared."))
    ben = Reader(town, "ben", language)
    ben.page.goto("/data")
    expect(ben.page.get_by_role("link", name="faces")).to_be_visible()
    ann.press("Revoke")
    ben.page.reload()
    expect(ben.page.get_by_role("link", name="faces")).to_have_count(0)
    ann.press("Delete")
    expect(ann.page).to_have_url(re.compile("/data[?]done=deleted"))
    expect(ann.page.get_by_role("link", name="faces")).to_have_count(0)


def test_u3_a_workbench_is_started_entered_stopped_and_deleted(town: Town, language: str) -> None:
    ann = Reader(town, "ann", language)
    ann.page.goto("/keys")
    ann.fill(Name="desk")
    ann.page.locator("#f-value").fill(KEY)
    ann.press("Store")
    expect(ann.page.get_by_role("row").filter(has_text="desk")).to_contain_text("SHA256:")
    run = ann.made("/workbenches/new", "desk")
    ann.state("desk", "Queued")
    town.served.admit(run, ready=True)
    ann.state("desk", "Running")
    link = ann.page.get_by_role("link", name=ann.say("Open JupyterLab"))
    assert re.match(r"https://[a-z0-9]+\.wb\.example\.org/", link.get_attribute("href") or "")
    expect(ann.page.locator("pre").first).to_contain_text("ssh -J ava@jump.example.org")
    ann.press("Stop")
    town.served.finish(run, Outcome.STOPPED)
    ann.state("desk", "Stopped")
    ann.page.goto("/workbenches")
    row = ann.page.get_by_role("row").filter(has_text="desk")
    row.get_by_role("button", name=ann.say("Delete")).click()
    expect(row).to_have_count(0)


def test_u4_each_run_of_a_training_has_its_state_log_and_reason(town: Town, language: str) -> None:
    ann = Reader(town, "ann", language)
    run = ann.made("/trainings/new", "digits")
    town.served.admit(run)
    line = LogLine(int(town.served.now.timestamp()) * 10**9, pod(run, 0, "worker", 0), "loss 0.5")
    town.served.logs.later.append(line)
    expect(ann.page.get_by_role("log")).to_contain_text("loss 0.5")
    town.served.see(run, "Failed", exit_code=3, reason="Error")
    failed = Phrase("its command failed with exit code {code}", code=3)
    why = Phrase("Pod {role} {index}: {why}.", role="worker", index=0, why=failed)
    town.served.finish(run, Outcome.FAILED, why)
    ann.state("digits", "Failed")
    expect(ann.page.locator("#now")).to_contain_text(ann.say.phrase(failed) or failed)
    ann.press("Start again")
    ann.state("digits", "Queued")
    assert run not in ann.page.url
    ann.page.goto("/trainings")
    expect(ann.page.get_by_role("row").filter(has_text="digits")).to_have_count(1)


def test_u5_the_use_of_each_of_ones_groups_is_shown_and_of_no_other(town: Town, language: str) -> None:
    ann = Reader(town, "ann", language)
    cards = ann.page.locator(".cards article")
    expect(cards).to_have_count(2)
    vision = cards.filter(has_text="vision")
    expect(vision).to_contain_text(ann.say("%(left)s available", left=5))
    eve = Reader(town, "eve", language)
    expect(eve.page.get_by_role("heading", name=eve.say("You do not belong to a group yet"))).to_be_visible()
    assert "vision" not in eve.page.locator("main").inner_text()


def test_u6_a_run_is_charged_to_the_group_that_is_the_default_when_it_is_made(
    town: Town, language: str
) -> None:
    ann = Reader(town, "ann", language)
    first = ann.made("/workbenches/new", "one")
    ann.page.goto("/account")
    ann.page.locator("select[name=group]").select_option("speech")
    ann.press("Save")
    expect(ann.page.locator("header .group")).to_contain_text("speech")
    second = ann.made("/workbenches/new", "two")
    expect(ann.page.locator("#now .facts")).to_contain_text("speech")
    assert [town.served.db.runs.get(run).group for run in (first, second)] == ["vision", "speech"]


def test_u8_one_run_writes_a_data_set_and_readers_wait_and_are_reported_why(
    town: Town, language: str
) -> None:
    ann = Reader(town, "ann", language)
    ann.page.goto("/trainings/new")
    ann.page.locator("input[name=data_set][value=imagenet-small]").check()
    ann.page.locator("input[name=data_write][value=imagenet-small]").check()
    ann.page.locator("summary").first.click()
    ann.fill(**{"Name": "samples", "Image": "a:1", "Start again after failures": "3"})
    ann.press("Save and start")
    ann.page.wait_for_url("**/runs/*")
    writer = ann.page.url.rpartition("/")[2].partition("?")[0]
    town.served.admit(writer)
    assert town.served.db.runs.get(writer).spec["retries"] == 3
    readers = []
    for name in ("train-a", "train-b"):
        made = apart(lambda name=name: town.served.run(name=name, data_sets=[{"name": "imagenet-small"}]))
        readers.append(made["id"])
    reasons = town.served.db.runs.admit(readers[0], town.served.now)
    town.served.db.runs.set_waits_for(readers[0], list(reasons))
    ann.page.goto(f"/runs/{readers[0]}")
    text = reasons[0].what
    assert text == "The data set imagenet-small is written by other runs."
    expect(ann.page.locator("#now")).to_contain_text(ann.say.phrase(text) or text)
    town.served.finish(writer)
    assert [town.served.db.runs.admit(run, town.served.now) for run in readers] == [(), ()]
    ann.page.goto("/data")
    expect(ann.page.get_by_role("row").filter(has_text="imagenet-small")).to_contain_text("2")


def test_u9_distributed_trainings_have_roles_policies_and_a_place_in_a_queue(
    town: Town, language: str
) -> None:
    ann = Reader(town, "ann", language)
    ann.page.goto("/trainings/new?like=tensorflow")
    ann.fill(Name="resnet", Image="registry.local/tf:1")
    ann.page.locator("#f-queue").select_option("night")
    ann.page.locator("summary").first.click()
    ann.page.locator("[id='f-worker.policy']").select_option("restart-pod")
    ann.page.locator("input[name=tensorboard]").check()
    expect(ann.page.locator("#check")).to_contain_text("2 GPU")
    ann.press("Save and start")
    ann.page.wait_for_url("**/runs/*")
    run = ann.page.url.rpartition("/")[2].partition("?")[0]
    spec = town.served.db.runs.get(run).spec
    assert (spec["distributed"], spec["tensorboard"], spec["queue"]) == ("tensorflow", True, "night")
    assert [(r["name"], r["policy"]) for r in spec["roles"]] == [
        ("ps", "restart-run"),
        ("worker", "restart-pod"),
    ]
    expect(ann.page.locator("#now .facts")).to_contain_text("night")
    # All of its pods or none: two of three are no place.
    text = Phrase(
        "All {count} pods start together; room is there for {room}, each kind by itself.",
        count=3,
        room="1 of 1 ps, 1 of 2 worker",
    )
    town.served.db.runs.set_waits_for(
        run, [Problem("gang", text, f"run {run}", "1 of 2 worker", "3 at once", "Wait.")]
    )
    message = "All 3 pods start together" if language == "en" else "全部 3 个 Pod 须同时启动"
    expect(ann.page.locator("#now")).to_contain_text(message)
    town.served.db.runs.admit(run, town.served.now)
    town.served.db.heartbeats.record("operator", town.served.now, {})
    pods = [
        PodState(run, pod(run, 0, role, n), role, n, 0, "Running")
        for role, n in (("ps", 0), ("worker", 0), ("worker", 1))
    ]
    town.served.db.pods.record(run, pods, town.served.now)
    ann.state("resnet", "Running")
    expect(ann.page.locator("#now tbody tr")).to_have_count(3)
