"""Services and queues by the forms of a real browser in both languages: made, updated while they run, scaled, deleted."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from ava.domain.model import Outcome
from tests.platform.web.conftest import Town
from tests.platform.web.test_web_requirements import Reader

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("language", ["en", "zh"])]


def test_a_service_is_made_updated_scaled_and_stopped(town: Town, language: str) -> None:
    ann = Reader(town, "ann", language)
    ann.page.goto("/services/new")
    ann.fill(
        Name="digits",
        Image="registry.local/server:1",
        Command="python -m server",
        Model="/data/models/digits",
    )
    ann.fill(**{"Port": "80", "At least": "4", "At most": "3", "At the start": "2"})
    # What is wrong stands beside its field while one types, and goes as it is fixed.
    expect(ann.field("Port")).to_have_attribute("aria-invalid", "true")
    ann.fill(Port="9000")
    expect(ann.field("Port")).not_to_have_attribute("aria-invalid", "true")
    expect(ann.field("At most")).to_have_attribute("aria-invalid", "true")
    ann.fill(**{"At least": "1", "Requests a second for one replica": "2.5"})
    ann.field("Who may call it").select_option("public")
    expect(ann.page.locator("#check")).to_contain_text(ann.say("Ready to submit."))
    assert ann.page.locator("[aria-invalid]").count() == 0
    ann.press("Save and start")
    ann.page.wait_for_url("**/runs/*")
    run = ann.page.url.rpartition("/")[2].partition("?")[0]
    spec = town.served.db.runs.get(run).spec
    assert spec["command"] == ["python", "-m", "server"]
    assert [r["replicas"] for r in spec["roles"]] == [2]
    assert (spec["serving"]["port"], spec["serving"]["access"]) == (9000, "public")
    assert spec["serving"]["scaling"] == {"least": 1, "most": 3, "requests": 2.5}
    town.served.admit(run, ready=True)
    ann.state("digits", "Running")
    expect(ann.page.locator("#now").get_by_role("link", name="https://digits-")).to_be_visible()

    ann.page.get_by_role("link", name=ann.say("Update")).click()
    expect(ann.field("Image")).to_have_value("registry.local/server:1")
    expect(ann.field("At most")).to_have_value("3")
    ann.fill(Image="registry.local/server:2")
    ann.field("Who may call it").select_option("group")
    ann.press("Save and update")
    ann.page.wait_for_url(f"**/runs/{run}?*")
    service = town.served.db.model_services.get(run)
    assert (service.target, service.settled) == (1, 0)
    expect(ann.page.locator("#now")).to_contain_text(ann.say("members of its group, by a token"))

    ann.fill(Replicas="3")
    ann.press("Set")
    expect(ann.page.get_by_role("status").first).to_contain_text(
        ann.say("It is scaled; replicas come as the quota has room for them.")
    )
    assert town.served.db.model_services.get(run).wanted == 3
    ann.page.goto("/services")
    row = ann.page.get_by_role("row").filter(has=ann.page.get_by_role("link", name="digits", exact=True))
    row.get_by_role("button", name=ann.say("Stop")).click()
    ann.page.wait_for_url("**/runs/*")
    town.served.finish(run, Outcome.STOPPED)
    ann.state("digits", "Stopped")
    assert town.complaints == []


def test_a_queue_is_made_changed_and_deleted_and_not_while_something_is_in_it(
    town: Town, language: str
) -> None:
    root = Reader(town, "root2", language)
    root.page.goto("/queues")
    root.page.get_by_role("link", name=root.say("New queue")).click()
    root.fill(Name="day", Priority="70", GPUs="2")
    root.press("Create")
    row = root.page.get_by_role("row").filter(has=root.page.get_by_role("link", name="day", exact=True))
    expect(row).to_contain_text("70")
    row.get_by_role("link", name=root.say("Edit")).click()
    expect(root.field("Priority")).to_have_value("70")
    root.fill(Priority="60")
    root.press("Save")
    expect(row).to_contain_text("60")

    ann = Reader(town, "ann", language)
    ann.page.goto("/trainings/new")
    ann.field("Queue").select_option("day")
    ann.fill(Name="late", Image="a:1")
    ann.press("Save and start")
    ann.page.wait_for_url("**/runs/*")
    run = ann.page.url.rpartition("/")[2].partition("?")[0]
    ann.page.goto("/queues")
    assert ann.page.get_by_role("button", name=ann.say("Delete")).count() == 0

    row.get_by_role("button", name=root.say("Delete")).click()
    expect(root.page.get_by_role("alert")).to_be_visible()
    assert "day" in {q.name for q in town.served.db.queues.list()}
    town.served.db.runs.stop(run, town.served.now, by="ann")
    row.get_by_role("button", name=root.say("Delete")).click()
    expect(root.page).to_have_url(re.compile("/queues[?]done=deleted"))
    expect(row).to_have_count(0)
    assert "day" not in {q.name for q in town.served.db.queues.list()}
