"""Every text of a page has words in every language; a problem's code without words is reported as the API says it."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

from ava.domain.phrases import places
from ava.web.i18n import FOLDER, LANGUAGES, PHRASE, Translator, chosen
from tests.unit.ava.api.site import Site
from tests.unit.ava.web.browser import Browser

TOOL = runpy.run_path(str(Path(__file__).parents[4] / "scripts/web-words"))
OTHERS = [code for code in LANGUAGES if code != "en"]


def catalogue(language: str) -> Catalog:
    with (FOLDER / language / "LC_MESSAGES/ava.po").open("rb") as file:
        return read_po(file, locale=language)


@pytest.mark.parametrize("language", OTHERS)
def test_a_catalogue_has_every_text_and_no_other(language: str) -> None:
    codes = {f"missing: {code!r}" for code in (*TOOL["codes"](), *TOOL["phrases"]())}
    reply = TOOL["compare"](catalogue(language))
    wrong = "\n".join(line for line in reply if line not in codes)
    assert not wrong, f"run scripts/web-words, then translate what is new in ava.po:\n{wrong}"
    assert len([line for line in reply if line in codes]) < 0.2 * len(codes)


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_keeps_the_places_of_values(language: str) -> None:
    for message in catalogue(language):
        place = re.compile(r"\{\w+\}" if message.context == PHRASE else r"%\(\w+\)s|%%")
        source = message.id[0] if isinstance(message.id, tuple) else message.id
        reply = message.string[0] if isinstance(message.string, tuple) else message.string
        assert not message.fuzzy or not source, source
        assert sorted(place.findall(reply)) == sorted(place.findall(source)), source


def test_every_phrase_has_a_value_for_each_of_its_places_and_no_other() -> None:
    calls = [call for call in TOOL["calls"]({"Phrase"}) if call.args]
    assert not [call for call in calls if isinstance(call.args[0], ast.JoinedStr)]
    written = [call for call in calls if isinstance(call.args[0], ast.Constant)]
    assert len(written) > 500
    for call in written:
        given = {keyword.arg for keyword in call.keywords}
        # What has no value yet is the template of phrases that are made elsewhere.
        assert given in ({*places(call.args[0].value)}, set()), ast.unparse(call)


def test_every_sentence_of_a_problem_is_a_phrase() -> None:
    assert TOOL["bare"]() == set()


@pytest.mark.slow
def test_the_tool_finds_a_text_that_is_missing() -> None:
    found = catalogue("zh")
    before = TOOL["compare"](found)
    found.delete("Overview")
    assert set(TOOL["compare"](found)) - set(before) == {"missing: 'Overview'"}
    found.add("Overview", "概览")
    found.add("Never used", "从不")
    assert set(TOOL["compare"](found)) - set(before) == {"unused: 'Never used'"}
    found.delete("csrf", "problem")
    assert "missing: 'csrf'" in TOOL["compare"](found)


@pytest.mark.parametrize(
    ("cookie", "accepted", "language"),
    [
        (None, "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        (None, "de-DE,de;q=0.9", "en"),
        (None, "", "en"),
        ("zh", "en", "zh"),
        ("../../etc", "zh", "zh"),
        (None, "," * 5000, "en"),
    ],
)
def test_the_language_is_the_readers_choice_else_the_browsers(
    cookie: str | None, accepted: str, language: str
) -> None:
    assert chosen(cookie, accepted) == language


def test_the_language_is_switched_and_stays(site: Site) -> None:
    browser = Browser(site).log_in("ann")
    assert "Overview" in browser.open("/").text
    answer = browser.send("/language", {"language": "zh", "next": "/runs"})
    assert answer.headers["location"] == "/runs"
    assert "概览" in browser.open("/").text


def test_a_problem_is_reported_in_the_readers_language_with_its_figures() -> None:
    words = Translator("zh")
    assert words.of_problem("quota-used-up") == "配额目前已用完"
    assert words.of_problem("no-such-code") == ""
    assert Translator("en").of_problem("quota-used-up") == ""
