"""What the API says is told in the reader's language with its figures; what no catalogue knows stays as it is."""

from __future__ import annotations

import time

import pytest

from ava.domain.model import Outcome, PodState
from ava.domain.placement import reasons
from ava.domain.states import EXPLAINED, explain
from ava.web.i18n import Translator
from ava.web.sentences import Sentences, fitting
from tests.unit.ava.api.site import Site
from tests.unit.ava.web.browser import Browser
from tests.unit.ava.web.sample_site import inhabit

ZH = Translator("zh")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The group vision has 1 of 8 GPUs free, 4 are wanted.", "用户组 vision 共 8 GPU，空闲 1，需要 4。"),
        (
            "The queue fast has 0 of 8 GPUs free (4 more when runs that are stopping have ended), 2 are wanted.",
            "队列 fast 共 8 GPU，空闲 0（正在停止的运行结束后再空出 4），需要 2。",
        ),
        ("3 nodes: GPU 0 free at most, 1 wanted.", "3 个节点：GPU 最多空闲 0，需要 1。"),
        (
            "3 nodes: GPU 0 free at most, 1 wanted (4 more when pods that are stopping have ended).",
            "3 个节点：GPU 最多空闲 0，需要 1（正在停止的 Pod 结束后再空出 4）。",
        ),
        ("The data set faces is read by runs.", "数据集 faces 正被运行读取。"),
        ("There is no queue vip.", "没有 队列 vip。"),
        (
            "Attempt 2. Pod worker 0 on gpu-01: its command failed with exit code 3.",
            "第 2 次尝试。节点 gpu-01 上的 Pod worker 0：其命令失败，退出码 3。",
        ),
        ("Wait 30 s and try again.", "请等待 30 秒后重试。"),
        ("Nothing like this was ever said.", ""),
        ("", ""),
    ],
)
def test_a_sentence_is_said_with_its_figures(text: str, said: str) -> None:
    assert ZH.said(text) == said
    assert Translator("en").said(text) == ""


@pytest.mark.parametrize("code", EXPLAINED)
def test_every_reason_of_a_pod_has_words(code: str) -> None:
    pod = PodState(
        "r1", "p", "worker", 0, 0, "Pending", node="gpu-01", reason=code, message="limit {x} (4 GiB)"
    )
    assert "gpu-01" in ZH.said(explain(pod))
    assert "limit {x} (4 GiB)" in ZH.said(explain(pod))


@pytest.mark.parametrize("cause", reasons.REMEDIES)
def test_every_remedy_of_a_run_that_waits_has_words(cause: str) -> None:
    assert ZH.said(reasons.REMEDIES[cause])  # type: ignore[index]


def test_what_was_found_and_wanted_is_said_too() -> None:
    assert ZH.part("1 free of 8 GPUs") == "空闲 1 / 共 8 GPU"
    assert ZH.part("one of: day, night") == "以下之一：day, night"
    # By itself it is no sentence.
    assert ZH.said("one of: day, night") == ""


def test_what_users_write_is_no_pattern_and_costs_no_time() -> None:
    begun = time.monotonic()
    hostile = "The group " + " has of free, are wanted" * 160
    assert ZH.said(hostile) == ""
    assert ZH.said("{} has {} of {} {} free, {0} are wanted.") != "x"
    assert ZH.said("x" * 10_000) == ""
    assert time.monotonic() - begun < 0.5
    assert (
        Sentences([("Stopped by {}.", "由 {} 停止。")]).say("Stopped by {0.__class__}.")
        == "由 {0.__class__} 停止。"
    )


def test_places_are_as_short_as_may_be_and_never_empty() -> None:
    assert fitting(["a ", " b ", "."], "a 1 b 2 b 3.") == ["1", "2 b 3"]
    assert fitting(["a ", " b"], "a  b") is None
    assert fitting(["Stopped by ", "."], "Stopped by.") is None


def test_a_chinese_page_says_reasons_and_remedies_in_chinese_and_markup_stays_text(site: Site) -> None:
    ids = inhabit(site)
    page = Browser(site, "zh").log_in("ann").open(f"/runs/{ids['failed']}").text
    assert "其内存用量超过上限，被内核终止；请申请更多内存" in page
    assert "it used more memory" not in page
    evil = "<img src=x>"
    site.store.finish(site.run(name="evil")["id"], Outcome.FAILED, f"Stopped by {evil}.", site.now)
    assert "由 &lt;img src=x&gt; 停止。" in Browser(site, "zh").log_in("ann").open("/runs").text
    ann = Browser(site, "zh").log_in("ann")
    ann.open("/trainings/new")
    text = ann.send("/trainings/new", {"name": "x", "image": "a:1", "queue": "vip", "worker.gpu": "99"}).text
    assert "没有 队列 vip。" in text
    assert "所申请的GPU超过了 用户组 vision 的全部配额。" in text
