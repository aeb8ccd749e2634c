"""The summary of a run for people: the last thing that is printed."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from avadm.cli.progress import duration, first_line
from avadm.cli.tables import print_table
from avadm.engine.known_errors import own
from avadm.quantity import quantity
from avadm.state.summary import FailureSummary, RunSummary

_STYLE = {
    "done": "green",
    "unchanged": "green",
    "failed": "bold red",
    "waiting": "yellow",
    "canceled": "yellow",
    "running": "yellow",
}
_SHOWN = 20


def print_summary(data: RunSummary, console: Console) -> None:
    """Print what summary.json holds: phases, then failures with their remedies, then how to continue."""
    print_table(_phases(data), whole=("phase", "result", "ok", "changed", "failed", "time"), to=console)
    failures = data["failures"]
    for key in _grouped(failures)[:_SHOWN]:
        _print_failure(key, console)
    if len(_grouped(failures)) > _SHOWN:
        console.print(Text(f"… and {len(_grouped(failures)) - _SHOWN} more, all in the log."))
    if data["dead"]:
        console.print(Text(f"\nNot reached, nothing was done there: {', '.join(data['dead'])}", style="red"))
    console.print(Text(f"\n{headline(data)}", style="green" if data["result"] == "good" else "red"))
    if data["result"] != "good":
        console.print(Text(f"Log      {data['log']}"))
        console.print(Text(f"Continue    {data['next']}"))


def headline(data: RunSummary) -> str:
    """Return the result as one sentence."""
    took = duration(data["seconds"])
    if data.get("verb") == "accept" and data["result"] != "unfinished":
        return _verdict(data, took)
    if data["result"] == "canceled":
        return f"Stopped after {took}: no playbook runs any more; what a node had begun, it ends by itself."
    if data["result"] == "unfinished":
        return f"Unfinished: it runs still, or was killed {took} after its start."
    if data["result"] == "failed":
        hosts = sorted({f["host"] for f in data["failures"] if f["host"]})
        bad = [p["name"] for p in data["phases"] if p["state"] in ("failed", "waiting")]
        where = f" on {len(hosts)} of {quantity(len(data['hosts']), 'node')}" if hosts else ""
        what = f"not done: {', '.join(bad)}" if bad else "every phase is done on the other nodes"
        return f"Failed{where} after {took}; {what}."
    if data.get("check"):
        return f"Dry run: {quantity(data['changed'], 'task')} would change something; nothing was changed."
    if not data["changed"]:
        proven = data["phases"] and all(p["state"] == "unchanged" for p in data["phases"])
        how = ", verified without running any task" if proven else ""
        return f"No changes: everything is in sync{how} ({took})."
    return f"Done in {took}: {quantity(data['changed'], 'task')} changed something on {quantity(_changed_hosts(data), 'node')}."


def _verdict(data: RunSummary, took: str) -> str:
    """Return the result of an acceptance run, whose phases are checks and their states verdicts."""
    checks = data["phases"]
    if data["result"] == "canceled":
        return f"Stopped after {took}: {quantity(len(checks), 'check')} begun, there is no report."
    bad = [f"{c['name']} {c['state']}" for c in checks if c["state"] not in ("PASS", "PROJECTED", "EXCEPTED")]
    if data["result"] == "failed":
        return f"Not accepted after {took}: {', '.join(bad)}."
    return f"Accepted in {took}: {quantity(len(checks), 'check')}, every one PASS, PROJECTED or EXCEPTED."


def _changed_hosts(data: RunSummary) -> int:
    return sum(1 for counts in data["hosts"].values() if counts["changed"])


def _phases(data: RunSummary) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("phase", no_wrap=True)
    table.add_column("result", no_wrap=True)
    for name in ("ok", "changed", "failed", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    for phase in data["phases"]:
        unchanged = phase["state"] == "unchanged"
        text = "unchanged, proven" if unchanged else phase["note"] or phase["state"]
        result = Text(text, style=_STYLE.get(phase["state"], ""))
        bad = phase["failed"] + phase["unreachable"]
        took = duration(phase["seconds"]) if phase["state"] != "waiting" else ""
        table.add_row(phase["name"], result, str(phase["ok"]), str(phase["changed"]), str(bad), took)
    return table


def _grouped(failures: list[FailureSummary]) -> list[tuple[FailureSummary, list[str]]]:
    """Return failures that are the same on several hosts once, with their hosts."""
    groups: dict[tuple[str, ...], tuple[FailureSummary, list[str]]] = {}
    for failure in failures:
        host = failure["host"] or ""
        same = failure["message"].replace(host, "HOST") if host else failure["message"]
        key = (failure["phase"], failure["task"], same)
        groups.setdefault(key, (failure, []))[1].extend([host] if host else [])
    return list(groups.values())


def _print_failure(group: tuple[FailureSummary, list[str]], console: Console) -> None:
    failure, hosts = group
    where = ", ".join(hosts) if hosts else "controller"
    console.print(Text(f"\n✗ {failure['phase']} on {where}: {failure['task']}", style="bold red"))
    error = own(failure["message"])[0].strip().splitlines() or [""]
    rows = [("error", error[0][:400])] + [("", line[:400]) for line in error[1:6]]
    if (tail := first_line_of_tail(failure)) and tail not in failure["message"]:
        rows.append(("", tail))
    remedy = failure["remedy"]
    if len(hosts) > 1:
        remedy = remedy.replace(f"--limit {failure['host']}`", f"--limit {','.join(hosts)}`")
    rows.append(("do", remedy))
    for name, value in rows:
        console.print(Text(f"    {name:<7}{value}"))


def first_line_of_tail(failure: FailureSummary) -> str:
    """Return the last telling line of the failed command's output."""
    text = failure["stderr"] or failure["stdout"]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return first_line(lines[-1], 400) if lines else ""
