"""A-OT3: the log of a training is seen in the browser, by the API and by the command line: soon, whole, by its owner alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

import httpx

from ava.client import ApiError
from avadm_validation.measuring.context import Context, MeasureError, Outcome
from avadm_validation.measuring.metrics import metric
from avadm_validation.protocol.model import Metric
from avadm_validation.suites.platform import log_readers, platform_client, polling
from avadm_validation.suites.platform.extract_logs import parse_line
from avadm_validation.suites.platform.journal import Journal
from avadm_validation.suites.platform.tenant import Tenant, tenant
from avadm_validation.suites.platform.work import LINES, role, spec

ID = "A-OT3"
TITLE = ("a training's log is seen soon, whole and by its owner alone", "训练日志及时、完整,且仅本人可见")
NEEDS = ""
LIVE = ("stream", "browser", "command-line")
KEPT = "kept"
"""The way of reading after the pod is gone."""
SHUT = (303, 401, 403, 404)
"""What says no: not there (for you), or first a login."""
Read = Callable[[], Iterable[str]]


def run(ctx: Context) -> Outcome:
    """Follow a training's log by three ways at once, look as somebody else, and read it again when its pod is gone."""
    quota = {"gpu": 0, "cpu": None, "memory": None}
    with tenant(ctx, [quota]) as who, tenant(ctx, [quota], part="o") as other:
        journal = Journal(who.user, who.groups[0])
        try:
            made = journal.start("tell", spec(platform_client.target(ctx).image, "tell", role()))
            # Before it runs: the first line is waited for by each way.
            ctx.step("follow the log by three ways")
            with log_readers.browser(ctx, who) as browser:
                status, text = browser.page(f"/runs/{made}")
                journal.note("page", status=status, shows="logs.js" in text and f'data-run="{made}"' in text)
                readers: dict[str, Read] = {
                    "stream": lambda: (line.text for line in who.user.follow(made, tail=1000)),
                    "browser": lambda: browser.follow(made),
                    "command-line": lambda: log_readers.by_command_line(ctx, who, made),
                }
                followed = [Follower(journal, way, read) for way, read in readers.items()]
                _others(ctx, journal, made, other)
                for one in followed:
                    one.ended(float(ctx.params["place_s"]) + log_readers.LONGEST_S)
            _afterwards(ctx, journal, made)
        finally:
            path = journal.save(ctx)
    return _outcome(ctx, {"journal": [path]})


class Follower:
    """Notes each line of a log as it comes by one way.

    Args:
        journal: where they are noted.
        way: its name.
        read: yields lines until the log ends.
    """

    def __init__(self, journal: Journal, way: str, read: Read) -> None:
        self._journal, self._way, self._read = journal, way, read
        self._error: Exception | None = None
        # A daemon: a log that never ends must not keep the check for ever.
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            _keep(self._journal, self._way, self._read)
        except Exception as error:  # reported by the check, whose thread this is not
            self._error = error

    def ended(self, seconds: float) -> None:
        """Wait until the log has ended; MeasureError where it does not, or where it broke off."""
        self._thread.join(seconds)
        if self._thread.is_alive():
            raise MeasureError(f"the log did not end within {seconds:.0f} s ({self._way})")
        if self._error is not None:
            raise MeasureError(f"the log broke off ({self._way}): {self._error}") from self._error


def _keep(journal: Journal, way: str, read: Read) -> None:
    """Note each line as it comes."""
    journal.note("opened", way=way)
    for text in read():
        _note(journal, way, text)


def _note(journal: Journal, way: str, text: str) -> None:
    if (found := parse_line(text)) is not None:
        journal.note("line", way=way, n=found[0], said=found[1])


def _others(ctx: Context, journal: Journal, run: str, other: Tenant) -> None:
    """Try to read the log as a user of another group, and as no one at all."""

    def tried(way: str, read: Read) -> None:
        try:
            next(iter(read()), "")  # an answer without a line yet is one
            status = 200
        except ApiError as error:
            status = error.status
        except httpx.HTTPError as error:
            raise MeasureError(f"{platform_client.target(ctx).host}: {type(error).__name__}") from error
        answered(way, status)

    def answered(way: str, status: int) -> None:
        if status != 200 and status not in SHUT:
            raise MeasureError(
                f"{platform_client.target(ctx).host}: HTTP {status} for the {way}, so that nothing is shown"
            )
        journal.note("other", way=way, got=status == 200, status=status)

    tried("log", lambda: [line.text for line in other.user.logs(run)])
    tried("stream", lambda: (line.text for line in other.user.follow(run)))
    with log_readers.browser(ctx, other) as browser:
        for who in ("other", "nobody"):
            if who == "nobody":
                browser.log_out()
            tried(f"browser of {who}", lambda: browser.follow(run))
            answered(f"page of {who}", browser.page(f"/runs/{run}")[0])


def _afterwards(ctx: Context, journal: Journal, run: str) -> None:
    """Read the log again once Kubernetes has no pod of the run."""
    platform = platform_client.target(ctx)
    line = f"kubectl --request-timeout=30s get pods --all-namespaces -l ava.io/run={run} -o name | wc -l"

    def gone() -> bool:
        return ctx.must(ctx.rec.run(platform.master, line, "left")).stdout.strip() == "0"

    if not polling.until(gone, float(ctx.params["end_s"]), every=2.0):
        raise MeasureError(f"the pod of {run} is still there {ctx.params['end_s']} s after its end")
    found: list[str] = []

    def whole() -> bool:
        found[:] = [x.text for x in journal.user.logs(run, tail=1000)]
        return sum(parse_line(text) is not None for text in found) >= LINES

    # Lines reach the store a little later.
    polling.until(whole, float(ctx.params["log_s"]), every=1.0)
    _keep(journal, KEPT, lambda: found)


def _outcome(ctx: Context, raw: dict[str, list[str]]) -> Outcome:
    more = {"offset": ctx.clock_offset}

    def each(
        name: str, titles: tuple[str, str], unit: str, extract: str, of: Iterable[str], **params: float
    ) -> Metric:
        return metric(
            name, titles, unit, "client", [ctx.sample(extract, raw, way=way, **params) for way in of]
        )

    def one(name: str, titles: tuple[str, str], unit: str, extract: str) -> Metric:
        return metric(name, titles, unit, "client", [ctx.sample(extract, raw)])

    return Outcome(
        method=f"a training that writes {LINES} lines, two a second, each with its time; followed by the API's stream, in a "
        "browser (session cookie, the run's page and the stream that its script asks for) and by `ava logs --follow`; "
        "tried by a user of another group and without a login; read again when Kubernetes has no pod of it any more",
        metrics=[
            each(
                "first", ("first line there, by each way", "首行日志到达"), "s", "ava_log_first", LIVE, **more
            ),
            each(
                "behind",
                ("the slowest line, by each way", "最慢一行日志"),
                "s",
                "ava_log_behind",
                LIVE,
                **more,
            ),
            each(
                "wrong",
                (
                    "lines missing, twice or out of order, the last of the kept log",
                    "缺失、重复或乱序的日志行",
                ),
                "lines",
                "ava_log_wrong",
                (*LIVE, KEPT),
                lines=float(LINES),
            ),
            one(
                "page", ("the run's page shows its log (1 = yes)", "任务页面显示日志"), "bool", "ava_log_page"
            ),
            one("others", ("ways by which others read it", "他人可读取日志的途径"), "ways", "ava_log_others"),
        ],
        remedy="`avadm doctor --only ava,logs`; kubectl logs -n ava-system -l part=api; what of the nodes' logs arrives: "
        "`avadm accept run --suite logs`.",
    )
