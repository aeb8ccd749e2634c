"""The script of a run's log in a real browser, on a server whose answers are cut: each line once, found and copied."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from ava.web import assets

STATIC = Path(assets.__file__).with_name("static")
RUN = "r1ils1ch03dhg"
PAGE = """<!doctype html><meta charset="utf-8"><input data-log-find><input type="checkbox" data-log-follow checked>
<button data-log-copy data-copied="Copied">Copy</button>
<div id="log" data-run="{run}" data-live="1" data-several="1" data-attempt="attempt #" data-empty="nothing" data-fail="failed"
 data-end="end" data-more="more"></div><script>{ava}</script><script>{logs}</script>"""


def line(second: str, text: str, pod: str = "worker-0") -> dict[str, str]:
    return {"time": f"2026-11-24T12:00:{second}Z", "pod": f"{RUN}-0-{pod}", "text": text}


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(
        base_url="https://ava.test", permissions=["clipboard-read", "clipboard-write"]
    )
    page = context.new_page()
    content = PAGE.format(run=RUN, ava=(STATIC / "ava.js").read_text(), logs=(STATIC / "logs.js").read_text())
    page.route("**/run", lambda route: route.fulfill(body=content, content_type="text/html"))
    yield page
    context.close()


def served(page: Page, written: list[dict[str, str]], cuts: list[int], why: str = "") -> list[dict[str, str]]:
    """Answer as the API does, of lines since a time; each answer but the last is cut behind some lines, or ends with ``why``."""
    asked: list[dict[str, str]] = []

    def answer(route: Route) -> None:
        query = {key: value[0] for key, value in parse_qs(urlsplit(route.request.url).query).items()}
        asked.append(query)
        last = len(asked) > len(cuts)
        there = written if last else written[: cuts[len(asked) - 1]]
        rows: list[dict[str, str]] = [row for row in there if row["time"] >= query.get("since", "")]
        if last:
            rows = [*rows, {"end": "end"}]
        elif why:
            rows = [*rows, {"end": why}]
        route.fulfill(
            body="".join(json.dumps(row) + "\n" for row in rows), content_type="application/x-ndjson"
        )

    page.route("**/api/v1/runs/*/logs*", answer)
    page.goto("/run")
    expect(page.locator("#log .note")).to_have_text("end")
    return asked


def shown(page: Page) -> list[str]:
    texts: list[str] = page.evaluate(
        "[...document.querySelectorAll('#log div:not(.note)')].map((e) => e.lastChild.textContent)"
    )
    return texts


def test_a_cut_loses_and_repeats_no_line(page: Page) -> None:
    """Lines of one millisecond and of one microsecond, equal ones, and of another pod with an earlier time."""
    written = [
        line("01.000100", "one"),
        line("01.000200", "two"),
        line("01.000200", "two"),
        line("01.000200", "three"),
        line("01.000900", "four"),
        line("00.500000", "late", "worker-1"),
        line("02.000000", "two"),
    ]
    asked = served(page, written, [2, 3, 4, 6])
    assert sorted(shown(page)) == sorted(row["text"] for row in written)
    assert [query["tail"] for query in asked] == ["1000", *["10000"] * 4]


@pytest.mark.parametrize("why", ["stopped", "the log cannot be followed: no store answers"])
def test_an_end_that_is_not_the_runs_is_asked_again(page: Page, why: str) -> None:
    written = [line("01.000100", "one"), line("01.000200", "two")]
    assert [query["tail"] for query in served(page, written, [1], why)] == ["1000", "10000"]
    assert shown(page) == ["one", "two"]


def test_lines_are_found_and_copied(page: Page) -> None:
    served(
        page, [line("01.0", "step 1 loss 0.9"), line("02.0", "saved"), line("03.0", "step 2 loss 0.8")], []
    )
    page.locator("[data-log-find]").fill("LOSS")
    expect(page.locator("#log div:not(.note):visible")).to_have_count(2)
    page.locator("[data-log-copy]").click()
    expect(page.locator("[data-log-copy]")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "step 1 loss 0.9\nstep 2 loss 0.8"
    page.locator("[data-log-find]").fill("")
    expect(page.locator("#log div:not(.note):visible")).to_have_count(3)
