import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from avadm_acceptance import report as reports
from avadm_acceptance.report import charts, html, junit, markdown, text
from avadm_validation.protocol.model import Report, Stated, Verdict


def test_write_makes_every_form_json_and_html_first(report, tmp_path):
    written = reports.write(report, tmp_path)
    assert [p.name for p in written] == ["report.json", "report.html", "report.md", "junit.xml"]
    assert Report.load(written[0]) == report


@pytest.fixture(scope="module")
def page(report):
    return html.render(report)


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links = []
        self.ids = []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("src", "href", "xlink:href") and value:
                self.links.append(value)
            if name == "id" and value:
                self.ids.append(value)


def test_html_needs_nothing_from_elsewhere_and_its_ids_are_unique_though_several_svgs_are_on_it(page):
    parser = Links()
    parser.feed(page)
    assert all(link.startswith(("#", "raw/")) for link in parser.links), parser.links
    assert "<script" not in page
    assert {i for i in parser.ids if parser.ids.count(i) > 1} == set()


def test_html_escapes_what_came_from_outside(page):
    assert "&lt;10 KB&gt; &amp; more" in page
    assert "<10 KB>" not in page


def test_html_says_that_a_lab_run_judged_no_stated_target(report, page):
    full = report.model_copy(update={"class_": "site-full"})
    assert "of that class only" in page and "of that class only" not in html.render(full)


def with_targets(report, *judged):
    """Return the report with a target of the specification in its first checks, judged or not."""
    stated = [
        Stated(
            threshold=5000,
            unit="files/s",
            text="5,000 files/s",
            text_zh="每秒 5000 个文件",
            judged=one,
        )
        for one in judged
    ]
    checks = [
        check.model_copy(update={"stated": stated[i] if i < len(stated) else None})
        for i, check in enumerate(report.checks)
    ]
    return report.model_copy(update={"checks": checks})


def test_targets_that_were_not_judged_are_marked_once(report):
    none, some, every = (with_targets(report, *judged) for judged in ([False] * 3, [True, False], [True] * 3))
    for form in (html.render, markdown.render):
        heading = "specification (not judged here)"
        assert form(none).lower().count("(not judged here)") == form(none).lower().count(heading) == 1
        assert form(some).count("5,000 files/s (not judged here)") == 1 and heading not in form(some).lower()
        assert "(not judged here)" not in form(every)


def test_title_names_site_and_suites(report):
    for suite, wanted in (("storage", "storage suite"), ("storage and logs", "storage and logs suites")):
        of = report.model_copy(update={"site": "lab", "suite": suite})
        assert f"<title>Acceptance report: site lab, {wanted}</title>" in html.render(of)
        assert re.search(rf"<h1>Acceptance report: site lab <small>{wanted}</small></h1>", html.render(of))
        assert markdown.render(of).startswith(f"# Acceptance report: site lab, {wanted}\n")


def test_titles_are_in_one_language(report):
    of = with_targets(report, True)
    for form in (html.render, markdown.render):
        assert not re.search("[\u3400-\u9fff]", form(of))
        chinese = form(of, "zh")
        assert "小文件" in chinese and "每秒 5000 个文件" in chinese
        assert "small files" not in chinese and "5,000 files/s" not in chinese


def test_thresholds_of_yes_and_no_are_words():
    assert text.wanted("==", 1.0, "bool") == "must be yes"
    assert text.wanted("==", 0.0, "bool") == "must be no"
    assert text.wanted("==", 0.0, "files") == "= 0 files"


def test_every_verdict_is_shown_in_each_form(report, page):
    for form in (page, markdown.render(report)):
        assert [verdict for verdict in Verdict if verdict.value not in form] == []


def test_markdown_tables_survive_pipes_in_text(report):
    titled = report.checks[0].model_copy(update={"title": "a | b"})
    page = markdown.render(report.model_copy(update={"checks": [titled]}))
    row = next(line for line in page.splitlines() if line.startswith("| A-FS1"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 8


def test_junit_counts_only_pass_as_passed(report, tmp_path):
    root = ET.parse(junit.write(report, tmp_path / "j.xml")).getroot()  # noqa: S314
    found = {}
    for case in root.iter("testcase"):
        if "A-X" in case.get("name"):
            found[case.get("name").partition(" ")[2]] = [c.tag for c in case if c.tag != "system-out"]
    skipped = {"projected", "excepted", "not run"}
    bad = {"fail": ["failure"], "inconclusive": ["error"], "blocked": ["error"]}
    assert found == {"pass": [], **bad, **{verdict: ["skipped"] for verdict in skipped}}


def test_junit_drops_what_xml_cannot_hold(report, tmp_path):
    bad = report.checks[2].model_copy(update={"reasons": ["fio: \x1b[31mno\x00\ufffe disk 小\U0001f4be"]})
    path = junit.write(report.model_copy(update={"checks": [bad]}), tmp_path / "j.xml")
    case = next(ET.parse(path).getroot().iter("testcase"))  # noqa: S314
    assert case[0].get("message", "").endswith("fio: [31mno disk 小\U0001f4be")


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (None, "files/s", "–"),
        (float("nan"), "ms", "–"),
        (5120.4, "files/s", "5,120 files/s"),
        (1.25e9, "B/s", "1.25 GB/s"),
        (9.478e9, "bit/s", "9.48 Gbit/s"),
        (1.0, "bool", "yes"),
        (0.0, "bool", "no"),
        (0.839, "ratio", "0.839"),
        (999.0, "B/s", "999 B/s"),
        (0.0123, "s", "0.0123 s"),
        (3.0, "clients", "3 clients"),
        (123.4, "ms", "123 ms"),
    ],
)
def test_numbers_are_readable(value, unit, shown):
    assert text.number(value, unit) == shown


def test_margin_is_above_one_when_good_whichever_way_the_operator_points(report):
    create, p99 = report.checks[0].metrics
    assert text.margin(create) == pytest.approx(812 / 400)
    assert text.margin(p99) == pytest.approx(20 / 12)


def test_lines_of_one_group_share_a_picture(report):
    assert [len(g) for g in charts.groups(report.checks[0].series)] == [3, 1]


def test_charts_are_the_same_each_time(report):
    series = report.checks[0].series[:3]
    assert charts.lines(series, "s") == charts.lines(series, "s")
    assert charts.overview(report) is not None
    assert charts.overview(report.model_copy(update={"checks": []})) is None
