"""A real browser, headless Chromium, on an AVA behind a real server."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from ava.web import assets
from tests.platform.built import built
from tests.unit.ava.api.site import WORD
from tests.unit.ava.files import without_ceph
from tests.unit.ava.served_files import ServedWithFiles
from tests.unit.ava.web.browser import whole
from tests.unit.ava.web.sample_site import inhabit

T = TypeVar("T")
INTO = {
    "services_domain": "services.example.org",
    "snapshots": True,
    "nfs_servers": ["nfs.example.org"],
    "hdfs_stores": ["hadoop"],
    "workbenches": {
        "below": "wb.example.org",
        "site": "https://ava.example.org",
        "gate_secret": "/nowhere",
        "jump": {"host": "jump.example.org", "host_key": "ssh-ed25519 AAAA"},
    },
}
"""The ways in, as pages show them."""
PATIENCE = 30_000
"""Milliseconds that a browser is waited for: these tests run beside others."""
expect.set_options(timeout=PATIENCE / 2)
LANGUAGES = {"en": "en-US", "zh": "zh-CN"}


def apart(call: Callable[..., T], *given: Any) -> T:
    """Call in another thread: playwright's loop runs in this one, and a Site has its own."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(call, *given).result()


def enter(page: Page, name: str) -> Page:
    """Log in by keyboard alone."""
    page.goto("/login")
    # The field takes the focus by itself, on a machine with much to do somewhat later.
    expect(page.locator("#f-name")).to_be_focused()
    page.keyboard.type(name)
    page.keyboard.press("Tab")
    page.keyboard.type(WORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/")
    return page


class Town:
    """An AVA in use, and what a browser complains of."""

    def __init__(self, served: ServedWithFiles, browser: Browser, admin: str = "root2") -> None:
        self.served, self.browser = served, browser
        self.ids = apart(inhabit, served, admin)
        files = self.served.folder_of(self.ids["data"])
        for name in ("README.md", "train/labels.csv", "train/part-0001.tar", "train/part-0002.tar"):
            (files / name).parent.mkdir(exist_ok=True)
            (files / name).write_bytes(bytes(3000))
        self.complaints: list[str] = []

    def page(self, language: str = "en", **more: Any) -> Page:
        """Return a window of a browser of its own."""
        screen = {"viewport": {"width": 1280, "height": 900}, **more}
        context = self.browser.new_context(locale=LANGUAGES[language], base_url=self.served.url, **screen)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.complaints.append(f"{page.url}: {error}"))
        page.on(
            "console",
            lambda m: self.complaints.append(f"{page.url}: {m.text}") if m.type == "error" else None,
        )
        return page

    def log_in(self, name: str, language: str = "en", **more: Any) -> Page:
        """Log in by keyboard alone."""
        return enter(self.page(language, **more), name)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    program = shutil.which("chromium")
    assert program, "There is no chromium: apt-get install chromium (scripts/test-platform does)."
    with sync_playwright() as playwright:
        # Root has no sandbox in a container; what it shows is our own.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def town(tmp_path: Path, chromium: Browser, monkeypatch: pytest.MonkeyPatch) -> Iterator[Town]:
    place = built("ava-scripts")
    missing = [name for name in assets.VENDORED if not (place / name).is_file()]
    assert not missing, f"{missing} not in {place}"
    monkeypatch.setattr(assets, "PLACE", place)
    assets.found.cache_clear()
    without_ceph.stand_in(monkeypatch.setattr)
    without_ceph.own(monkeypatch.setattr)
    served = ServedWithFiles(tmp_path, frame=whole, config=INTO)
    made = Town(served, chromium)
    yield made
    for context in chromium.contexts:
        context.close()
    apart(served.close)
    assets.found.cache_clear()


def unfit(page: Page) -> list[str]:
    """Return what axe finds wrong with a page (WCAG 2.1 and 2.2, A and AA; what is good practice beside), for people."""
    if not page.evaluate("typeof window.axe === 'object'"):
        page.evaluate((built("ava-scripts") / "axe.min.js").read_text(encoding="utf-8") + "; 0")
    rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
    found = page.evaluate(f"axe.run(document, {json.dumps(rules)})")
    return [
        f"{re.sub('^http://[^/]*', '', page.url)}: {one['id']}: {node['html'][:160]}"
        for one in found["violations"]
        for node in one["nodes"][:3]
    ]
