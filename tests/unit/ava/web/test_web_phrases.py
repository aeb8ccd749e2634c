"""Problems and reasons are reported in the reader's language with their values; what no catalogue has stays English."""

from __future__ import annotations

import pytest

from ava.db.tables import runs
from ava.domain.model import Outcome, PodState
from ava.domain.phrases import Phrase, as_document, noun, sentences
from ava.domain.placement import reasons
from ava.domain.problems import missing
from ava.domain.states import EXPLAINED, explain
from ava.web.i18n import Translator
from tests.unit.ava.api.site import Site
from tests.unit.ava.web.browser import Browser
from tests.unit.ava.web.sample_site import inhabit

ZH = Translator("zh")
GPU = Phrase("GPUs")


@pytest.mark.parametrize(
    ("phrase", "english", "chinese"),
    [
        (
            Phrase(
                "{where} has {free} of {quota} {label} free, {want} are wanted.",
                where=Phrase("The group {name}", name="vision"),
                free=1,
                quota=8,
                label=GPU,
                want=4,
            ),
            "The group vision has 1 of 8 GPUs free, 4 are wanted.",
            "用户组 vision 共 8 GPU，空闲 1，需要 4。",
        ),
        (
            Phrase(
                "{where} has {free} of {quota} {label} free ({soon} more when runs that are stopping have ended), "
                "{want} are wanted.",
                where=Phrase("The queue {name}", name="fast"),
                free=0,
                quota=8,
                label=GPU,
                soon=4,
                want=2,
            ),
            "The queue fast has 0 of 8 GPUs free (4 more when runs that are stopping have ended), 2 are wanted.",
            "队列 fast 共 8 GPU，空闲 0（正在停止的运行结束后再空出 4），需要 2。",
        ),
        (
            Phrase(
                "{count} nodes: {text}.",
                count=3,
                text=Phrase("GPU {best} free at most, {want} wanted", best="0", want="1"),
            ),
            "3 nodes: GPU 0 free at most, 1 wanted.",
            "3 个节点：GPU 最多空闲 0，需要 1。",
        ),
        (
            Phrase(
                "{count} nodes: {text}.",
                count=3,
                text=Phrase(
                    "{text} ({more} more when pods that are stopping have ended)",
                    text=Phrase("GPU {best} free at most, {want} wanted", best="0", want="1"),
                    more="4",
                ),
            ),
            "3 nodes: GPU 0 free at most, 1 wanted (4 more when pods that are stopping have ended).",
            "3 个节点：GPU 最多空闲 0，需要 1（正在停止的 Pod 结束后再空出 4）。",
        ),
        (
            Phrase("The data set {name} is {how} by runs.", name="faces", how=Phrase("read")),
            "The data set faces is read by runs.",
            "数据集 faces 正被运行读取。",
        ),
        (
            missing(Phrase("{kind} {name}", kind=noun("queue"), name="vip"), "queue").problems[0].what,
            "There is no queue vip.",
            "没有 队列 vip。",
        ),
        (
            sentences(
                Phrase("Attempt {number}.", number=2),
                explain(PodState("r1", "p", "worker", 0, 1, "Failed", node="gpu-01", exit_code=3)),
            ),
            "Attempt 2. Pod worker 0 on gpu-01: its command failed with exit code 3.",
            "第 2 次尝试。节点 gpu-01 上的 Pod worker 0：其命令失败，退出码 3。",
        ),
        (
            Phrase("Wait {seconds} s and try again.", seconds=30),
            "Wait 30 s and try again.",
            "请等待 30 秒后重试。",
        ),
        (Phrase("Nothing like this was ever written."), "Nothing like this was ever written.", ""),
        ("There is no queue vip.", "There is no queue vip.", ""),
        ("", "", ""),
    ],
)
def test_a_phrase_is_worded_with_its_values(phrase: str, english: str, chinese: str) -> None:
    assert phrase == english
    assert ZH.phrase(phrase) == chinese
    assert Translator("en").phrase(phrase) == ""


@pytest.mark.parametrize("code", EXPLAINED)
def test_every_reason_of_a_pod_has_words(code: str) -> None:
    pod = PodState(
        "r1", "p", "worker", 0, 0, "Pending", node="gpu-01", reason=code, message="limit {x} (4 GiB)"
    )
    assert "gpu-01" in ZH.phrase(explain(pod))
    assert "limit {x} (4 GiB)" in ZH.phrase(explain(pod))


@pytest.mark.parametrize("cause", reasons.REMEDIES)
def test_every_remedy_of_a_run_that_waits_has_words(cause: str) -> None:
    assert ZH.phrase(reasons.REMEDIES[cause])  # type: ignore[index]


def test_what_was_found_and_wanted_is_worded_too() -> None:
    found = Phrase("{free} free of {quota} {label}", free=1, quota=8, label=GPU)
    assert (found, ZH.phrase(found)) == ("1 free of 8 GPUs", "空闲 1 / 共 8 GPU")
    wanted = Phrase("one of: {names}", names=["day", "night"])
    assert (wanted, ZH.phrase(wanted)) == ("one of: day, night", "以下之一：day, night")


def test_what_users_write_is_no_template() -> None:
    evil = Phrase("Stopped by {by}.", by="{by} {0.__class__} %(by)s")
    assert evil == "Stopped by {by} {0.__class__} %(by)s."
    assert ZH.phrase(evil) == "由 {by} {0.__class__} %(by)s 停止。"


def test_a_chinese_page_says_reasons_and_remedies_in_chinese_and_markup_stays_text(site: Site) -> None:
    ids = inhabit(site)
    page = Browser(site, "zh").log_in("ann").open(f"/runs/{ids['failed']}").text
    assert "其内存用量超过上限，被内核终止；请申请更多内存" in page
    assert "it used more memory" not in page
    evil = "<img src=x>"
    site.db.runs.finish(
        site.run(name="evil")["id"], Outcome.FAILED, Phrase("Stopped by {by}.", by=evil), site.now
    )
    assert "由 &lt;img src=x&gt; 停止。" in Browser(site, "zh").log_in("ann").open("/runs").text
    ann = Browser(site, "zh").log_in("ann")
    ann.open("/trainings/new")
    text = ann.send("/trainings/new", {"name": "x", "image": "a:1", "queue": "vip", "worker.gpu": "99"}).text
    assert "没有 队列 vip。" in text
    assert "所申请的GPU超过了 用户组 vision 的全部配额。" in text


def test_what_was_kept_of_a_phrase_is_used_only_where_it_makes_the_text(site: Site) -> None:
    kept = Phrase("Stopped by {by}.", by="ann")
    run = site.run(name="kept")["id"]
    site.db.runs.finish(run, Outcome.FAILED, kept, site.now)
    page = Browser(site, "zh").log_in("ann")
    assert "由 ann 停止。" in page.open("/runs").text
    other = as_document(Phrase("Stopped by {by}.", by="bob"))
    for document in (
        None,
        {},
        [],
        "x",
        {"template": 1, "values": {}},
        {"template": "{x}", "values": 3},
        other,
    ):
        with site.db.engine.begin() as connection:
            connection.execute(runs.update().where(runs.c.id == run).values(reason_phrase=document))
        assert "Stopped by ann." in page.open("/runs").text
