"""Data sets of other sources in a real browser, by keyboard alone: reported beside each field what is wrong, made, and seen."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from ava.domain.data_sets import ExternalSource
from ava.web import labels
from ava.web.i18n import Translator
from tests.platform.web.conftest import Town, unfit
from tests.unit.ava.web.sample_site import NO_SNAPSHOT

LANGUAGES = ["en", pytest.param("zh", marks=pytest.mark.slow)]
pytestmark = pytest.mark.parametrize("language", LANGUAGES)
GIVEN = {
    "cache": {"path": ("/s3", "s3/faces")},
    "rbd": {"image": ("--pool", "faces"), "snapshot": ("pvc-1", "v1")},
    "nfs": {"server": ("other.example.org", "nfs.example.org"), "path": ("export", "/export")},
    "hdfs": {"store": ("other", "hadoop"), "path": ("/a", "a")},
}
"""By kind and field: what is refused, and what is right."""
KINDS = [kind if kind == "nfs" else pytest.param(kind, marks=pytest.mark.slow) for kind in GIVEN]


def reach(page: Page, name: str) -> None:
    """Press Tab until a field or link has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if (
            page.evaluate("document.activeElement.name || document.activeElement.getAttribute('href')")
            == name
        ):
            return
    raise AssertionError(f"{name} is not reached by Tab")


@pytest.mark.parametrize("kind", KINDS)
def test_one_is_made_by_keyboard_and_what_is_wrong_stands_beside_its_field(
    town: Town, kind: str, language: str
) -> None:
    say = Translator(language)
    root = town.log_in("root2", language)
    root.goto("/data")
    reach(root, "/data/new?source=cache")
    root.keyboard.press("Enter")
    root.wait_for_url("**/data/new?source=cache")
    if kind != "cache":
        reach(root, f"?source={kind}")
        root.keyboard.press("Enter")
        root.wait_for_url(f"**/data/new?source={kind}")
    expect(root.locator("[aria-current=page]").last).to_have_text(say(labels.SOURCES[kind]))
    reach(root, "name")
    root.keyboard.type("more-faces")
    for name, (wrong, right) in GIVEN[kind].items():
        reach(root, name)
        field = root.locator(f"#f-{name}")
        root.keyboard.type(wrong)
        expect(field).to_have_attribute("aria-invalid", "true")
        reply = root.locator(f"#e-{name}")
        expect(reply).not_to_be_empty()
        assert f"e-{name}" in (field.get_attribute("aria-describedby") or "")
        if language == "zh":
            assert not [word for word in ("cannot", "wanted", "This site") if word in reply.inner_text()]
        assert unfit(root) == []
        # What is stated comes without the field losing its focus or what was typed.
        expect(field).to_be_focused()
        root.keyboard.press("Control+a")
        root.keyboard.type(right)
        expect(field).not_to_have_attribute("aria-invalid", "true")
        expect(reply).to_be_empty()
    expect(root.locator("#check")).to_have_text(say("Ready to save."))
    root.keyboard.press("Enter")
    root.wait_for_url("**/data/f*")
    expect(root.get_by_role("heading", name="more-faces")).to_be_visible()
    one = root.url.rpartition("/")[2].partition("?")[0]
    made = town.served.db.data_sets.get(one)
    assert made.source == {"kind": kind, **{name: right for name, (_, right) in GIVEN[kind].items()}}

    state = root.locator("#s-state")
    expect(state).to_contain_text(say("Not known yet"))
    town.served.db.external_sources.record(ExternalSource(one, trouble=NO_SNAPSHOT, seen=town.served.now))
    if kind != "rbd":
        root.reload()
    # What is being made ready is looked at again by the page itself.
    expect(state).to_contain_text(say("Not there"))
    expect(root.locator("main")).to_contain_text(say.phrase(NO_SNAPSHOT) or "no snapshot v1")
    town.served.db.external_sources.record(
        ExternalSource(one, volume="pvc-1", size=2**30, cached=2**29, seen=town.served.now)
    )
    if kind != "rbd":
        root.reload()
    expect(state).to_contain_text(say("There"))
    root.reload()
    expect(root.locator(".facts")).to_contain_text("50 %")
    assert town.complaints == []


def test_a_form_that_is_refused_says_at_which_field_and_keeps_what_was_typed(
    town: Town, language: str
) -> None:
    root = town.log_in("root2", language)
    root.goto("/data/new?source=rbd")
    root.locator("#f-image").fill("faces")
    root.get_by_role("button", name=Translator(language)("Make the data set")).click()
    expect(root.locator("#e-snapshot")).not_to_be_empty()
    expect(root.locator("#e-name")).not_to_be_empty()
    expect(root.locator("#f-image")).to_have_value("faces")
    assert unfit(root) == []
