"""A training with a GPU as grafana, the platform and Kubernetes tell of it from its start to after its end: made once a run.

grafana itself is not asked: its panels' queries are evaluated by the site's Prometheus, as they are when a reader opens them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

from avadm_validation.measuring import gpus
from avadm_validation.measuring.context import Context, MeasureError
from avadm_validation.measuring.targets import MetricsTarget
from avadm_validation.suites.platform import gpu_inventory, log_readers, platform_client, polling
from avadm_validation.suites.platform.extract_view import agrees, of_run
from avadm_validation.suites.platform.gpu_table import Table
from avadm_validation.suites.platform.isolation import fixtures, setup
from avadm_validation.suites.platform.journal import Journal
from avadm_validation.suites.platform.shared_results import once, own
from avadm_validation.suites.platform.tenant import Tenant, tenant
from avadm_validation.suites.platform.work import role, spec

LEFT = "watch"
"""Under which it is left for the run's other checks."""
EVERY_S = 1.0
NAME = "watched"
_OPTION = r'<option value="{}"[^>]*>[^<(]*\((\d+) GPU'


@dataclass(frozen=True)
class WatchedFiles:
    """What was seen: raw files.

    Attributes:
        node: of the training.
        run: the training.
        journal: what each reported, with the time of each.
        cards, table: as of isolation/scene.py.
        exporter: what the node's exporter reported of its GPUs when the series were looked at; () where there were none.
        simulated: whether no driver is behind the node's cards.
    """

    node: str
    run: str
    journal: str
    cards: str
    table: str
    exporter: Sequence[str]
    simulated: bool

    def of(self, ctx: Context) -> WatchedFiles:
        """Return the same with raw files of the check that judges."""
        return replace(
            self,
            journal=own(ctx, self.journal),
            cards=own(ctx, self.cards),
            table=own(ctx, self.table),
            exporter=[own(ctx, path) for path in self.exporter],
        )


def seen(ctx: Context) -> WatchedFiles:
    """Return what was seen, made by the first check that asks; MeasureError for each where it could not be made."""
    return once(ctx, LEFT, WatchedFiles, _make).of(ctx)


def metrics(ctx: Context) -> MetricsTarget:
    """Return where Prometheus is asked; MeasureError where the site has none of ours."""
    found = platform_client.target(ctx).metrics
    if found is None:
        raise MeasureError("the site has no Prometheus of ours")
    return found


def asked(ctx: Context, name: str, *queries: str) -> list[list[dict[str, Any]]]:
    """Return the result of each query, as Prometheus tells it now; MeasureError where it does not."""
    there = metrics(ctx)
    shown = f"--cacert {there.tls}.ca --cert {there.tls}.crt --key {there.tls}.key"
    begin = f"if [ -e {there.tls}.crt ]; then S=https T='{shown}'; else S=http T=; fi"
    curl = f'curl -sf -m 20 --noproxy "*" $T "$S://{there.address}/api/v1/query" --data-urlencode'
    line = " && ".join(f"{curl} {quote(f'query={query}')} && echo" for query in queries)
    done = ctx.must(ctx.rec.run(there.node, f"{begin}; {line}", name))
    try:
        return [json.loads(row)["data"]["result"] for row in done.stdout.split("\n") if row]
    except (ValueError, KeyError, TypeError) as error:
        raise MeasureError(f"{there.node}: Prometheus' answer cannot be read: {error}") from error


def _make(ctx: Context) -> WatchedFiles:
    with gpus.held("platform"), tenant(ctx, [{"gpu": 1, "cpu": None, "memory": None}], part="w") as who:
        return _Watch(ctx, who).metrics_text()


class _Watch:
    def __init__(self, ctx: Context, who: Tenant) -> None:
        self.ctx, self.who = ctx, who
        self.journal = Journal(who.user, who.groups[0])
        self.node = _node(gpu_inventory.look(ctx, "free")[1])

    def metrics_text(self) -> WatchedFiles:
        ctx, p = self.ctx, self.ctx.params
        run = self.journal.start(
            NAME,
            spec(platform_client.target(ctx).image, "graceful", role(1), node=self.node),
            owner=self.who.name,
        )
        placed = polling.until(lambda: run in self._table("start")[self.node].used, float(p["place_s"]))
        if not placed:
            self.journal.look()
            raise MeasureError(f"the training has no node: {self.journal.runs[run].reason}")
        ctx.step(f"reports on the GPUs of {self.node}")
        self._until_equal("held")
        self._form()
        ctx.step("the run's GPU utilization")
        exporter = self._series(run)
        facts = ctx.must(ctx.rec.run(self.node, setup.CARDS, "cards"))
        table, _ = fixtures.ask(ctx, f"get pods --all-namespaces -l ava.io/run={run}", "pods")
        self.journal.stop(run)
        if not polling.until(lambda: run not in self._table("end")[self.node].used, float(p["end_s"])):
            raise MeasureError(f"the training's pod is still there {p['end_s']} s after its stop")
        self._until_equal("freed")
        return WatchedFiles(
            node=self.node,
            run=run,
            journal=self.journal.save(ctx),
            cards=ctx.rec.save("cards.txt", facts.stdout),
            table=table,
            exporter=exporter,
            simulated="driverless" in facts.stdout,
        )

    def _table(self, name: str) -> Table:
        return gpu_inventory.look(self.ctx, name)[1]

    def _until_equal(self, phase: str) -> None:
        """Note what panel, platform and Kubernetes tell of the node until they agree."""
        ctx, there = self.ctx, metrics(self.ctx)
        self.journal.note("changed", phase=phase)

        def look() -> bool:
            used, free = (_of(rows, self.node) for rows in asked(ctx, "panels", there.used, there.free))
            own = next((n for n in self.who.admin.cluster().nodes if n.name == self.node), None)
            node = self._table("pods")[self.node]
            report: dict[str, Any] = {
                "panel": [used, free],
                "platform": None if own is None else [own.capacity.gpu - own.free.gpu, own.free.gpu],
                "pods": [node.size - node.free, node.free],
                "ledger": self.who.user.group(self.who.groups[0]).used.gpu,
                "charged": int(phase == "held"),
            }
            self.journal.note("told", phase=phase, **report)
            return agrees(report)

        polling.until(look, float(ctx.params["report_s"]), every=EVERY_S)

    def _form(self) -> None:
        """Note which nodes the form of a new training lists, with the GPUs that it says are free."""
        with log_readers.browser(self.ctx, self.who) as browser:
            status, page = browser.page("/trainings/new")
        table = self._table("form")
        offered = {n: int(m[1]) for n in table if (m := re.search(_OPTION.format(re.escape(n)), page))}
        wanted = {n: x.free for n, x in table.items() if x.open and x.free}
        # Of other nodes others may take GPUs meanwhile: there it counts that they are listed.
        self.journal.note("form", status=status, node=self.node, offered=offered, wanted=wanted)

    def _series(self, run: str) -> list[str]:
        """Note the run's series once they are there; return the raw file of what the exporter then tells of the node."""
        ctx, there = self.ctx, metrics(self.ctx)

        def look() -> bool:
            (rows,) = asked(ctx, "series", there.runs)
            mine = of_run(rows, run)
            if mine:
                self.journal.note("series", rows=[[r["metric"], float(r["value"][1])] for r in mine])
            return bool(mine)

        if not polling.until(look, float(ctx.params["series_s"]), every=2 * EVERY_S):
            return []
        address = platform_client.target(ctx).addresses[self.node]
        line = f"curl -sf -m 20 --noproxy '*' http://{address}:{there.exporter}/metrics"
        done = ctx.must(ctx.rec.run(self.node, line, "exporter"))
        return [ctx.rec.save("exporter.txt", done.stdout)]


def _of(rows: Sequence[dict[str, Any]], node: str) -> float | None:
    return next((float(r["value"][1]) for r in rows if r["metric"].get("node") == node), None)


def _node(table: Table) -> str:
    """Return the node with fewest free GPUs, the last by its name: the attacks are made on another one, where there are two."""
    able = sorted((n for n, x in table.items() if x.open and x.free), key=lambda n: (-table[n].free, n))
    if not able:
        raise setup.TooFullError("no free GPU")
    return able[-1]
