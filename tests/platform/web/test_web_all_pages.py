"""Every page in a real browser, in both languages, light and dark: no script fails, and axe finds it fit by WCAG 2.1 AA."""

from __future__ import annotations

import pytest

from tests.platform.web.conftest import Town, unfit

pytestmark = [pytest.mark.platform, pytest.mark.slow]
PAGES = {
    "ann": (
        "/", "/runs", "/runs/{running}", "/runs/{waiting}", "/runs/{failed}", "/runs/{bench}", "/trainings",
        "/workbenches", "/trainings/new", "/trainings/new?like=tensorflow", "/trainings/new?like=mpi",
        "/workbenches/new", "/services", "/services/new", "/runs/{service}", "/data", "/data/{data}",
        "/data/{data}#/train", "/nodes", "/queues", "/queues/default", "/pools", "/usage", "/keys", "/tokens",
        "/account", "/groups/vision",
    ),
    "root2": (
        "/admin/users", "/admin/users?state=pending", "/admin/users/ann", "/admin/groups", "/admin/audit",
        "/queues?edit=night", "/pools?edit=gpu", "/groups/vision", "/runs?all=1",
    ),
}  # fmt: skip

WIDE = """width => document.documentElement.scrollWidth <= width ? []
    : [...document.querySelectorAll("main *, header *")]
    .filter(e => e.getBoundingClientRect().right > width && !e.closest(".scroll, pre, .log"))
    .map(e => e.outerHTML.slice(0, 90))"""
"""Asks for what reaches beyond a screen's edge, where it makes the page scroll sideways."""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_page_is_fit_for_everybody(town: Town, language: str, theme: str) -> None:
    found = []
    outside = town.page(language, color_scheme=theme)
    for path in ("/login", "/register", "/invitation"):
        outside.goto(path)
        found += unfit(outside)
    for who, paths in PAGES.items():
        page = town.log_in(who, language, color_scheme=theme)
        for path in paths:
            page.goto(path.format(**town.ids))
            found += unfit(page)
    assert found == []
    assert town.complaints == []


@pytest.mark.parametrize("width", [390, 768])
def test_no_page_is_wider_than_a_small_screen(town: Town, width: int) -> None:
    for who, paths in PAGES.items():
        page = town.log_in(who)
        page.set_viewport_size({"width": width, "height": 800})
        for path in paths:
            page.goto(path.format(**town.ids))
            wide = page.evaluate(WIDE, width)
            assert wide == [], path
