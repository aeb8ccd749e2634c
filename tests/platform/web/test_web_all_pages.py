"""Every page in a real browser, in both languages, light and dark: no script fails, and axe finds it fit by WCAG 2.2 AA.

Which pages there are say the site's own routes and templates (tests/unit/ava/web/rows.py): a new one without a row fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from ava.web import render
from tests.platform.web.conftest import Town, unfit
from tests.platform.web.states import STATES
from tests.unit.ava.web.rows import ANONYMOUS, by_person

pytestmark = pytest.mark.slow
WIDE = """width => document.documentElement.scrollWidth <= width ? []
    : [...document.querySelectorAll("main *, header *")]
    .filter(e => e.getBoundingClientRect().right > width && !e.closest(".scroll, pre, .log"))
    .map(e => e.outerHTML.slice(0, 90))"""
"""Asks for what reaches beyond a screen's edge, where it makes the page scroll sideways."""
SCROLLED = """[...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth)
    .map(e => `${e.getAttribute("aria-label")}: ${e.scrollWidth} in ${e.clientWidth}`)"""
"""Asks for tables that are wider than their place."""
WHOLE = {
    path.name
    for path in render.FOLDER.glob("*.html")
    if "{% extends 'base.html' %}" in path.read_text(encoding="utf-8")
}
"""Templates of whole pages."""


def everywhere(
    town: Town, look: Callable[[Page, str], list[str]], language: str = "en", **more: object
) -> list[str]:
    """Return what is found on every page, and on what forms answer that are refused."""
    found = []
    windows: dict[str, Page] = {}

    def window(who: str) -> Page:
        if who not in windows:
            windows[who] = town.log_in(who, language, **more) if who else town.page(language, **more)
            windows[who].on("dialog", lambda dialog: dialog.accept())
        return windows[who]

    for who, paths in by_person():
        for path in paths:
            window(who).goto(path.format(**town.ids))
            found += look(window(who), path)
    complaints = list(town.complaints)
    for name, (who, act) in STATES.items():
        act(window(who))
        found += look(window(who), name)
    # A browser complains itself of a status that tells of an error.
    town.complaints[:] = complaints + [
        line
        for line in town.complaints[len(complaints) :]
        if "the server responded with a status of" not in line
    ]
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_page_is_fit_for_all_users(
    town: Town, monkeypatch: pytest.MonkeyPatch, language: str, theme: str
) -> None:
    shown, page = set(), render.page

    def noted(words, template, now, data):
        shown.add(template)
        return page(words, template, now, data)

    monkeypatch.setattr(render, "page", noted)
    assert everywhere(town, lambda page, _: unfit(page), language, color_scheme=theme) == []
    assert town.complaints == []
    assert shown >= WHOLE


@pytest.mark.parametrize("language", ["en", "zh"])
def test_pages_that_a_site_may_have_are_fit_for_all_users(
    town: Town, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    """Without registration, with the site's own login, and after a mistake of the platform."""
    services = town.served.services
    closed = services.config.model_copy(update={"registration": False})
    monkeypatch.setattr(services, "config", closed)
    monkeypatch.setattr(services, "provider", object())

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a mistake")

    found = []
    for theme in ("light", "dark"):
        page = town.page(language, color_scheme=theme)
        for path in ("/login", "/register"):
            page.goto(path)
            found += unfit(page)
        page = town.log_in("ann", language, color_scheme=theme)
        with monkeypatch.context() as patch:
            patch.setattr(town.served.db.data_sets, "list", broken)
            answer = page.goto("/data")
            assert answer is not None
            assert answer.status == 500
            found += unfit(page)
    assert found == []


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_no_page_is_wider_than_its_screen(town: Town, width: int, language: str) -> None:
    """Nor is a table on a telephone, where its rows are blocks, or on a screen as most have; between them some scroll."""

    def look(page: Page, name: str) -> list[str]:
        wide = page.evaluate(WIDE, width) + (page.evaluate(SCROLLED) if width != 768 else [])
        return [f"{name}: {one}" for one in wide]

    screen = {"width": width, "height": 800}
    assert everywhere(town, look, language, viewport=screen) == []


def test_rows_without_a_login_are_opened_by_no_one() -> None:
    """The control of the above: who is logged in is led from the login to the overview."""
    paths = dict(by_person())[ANONYMOUS]
    assert {re.sub(r"\?.*", "", path) for path in paths} == {"/login", "/register", "/invitation"}
