"""Numbers of the platform suite from raw text: journals (journal.py), tables of GPUs (table.py), kubelets' events."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from avadm_validation.measuring.extract import Inputs, Params, extractor
from avadm_validation.suites.platform.gpu_table import table
from avadm_validation.suites.platform.journal import ENDED

Line = dict[str, Any]


def lines(inputs: Inputs, group: str = "journal") -> list[Line]:
    """Return the lines of journals in order of time; ValueError for none."""
    found = [json.loads(row) for text in inputs[group] for row in text.split("\n") if row.strip()]
    if not found:
        raise ValueError("the journal is empty")
    return sorted(found, key=lambda line: float(line["t"]))


def of(found: Iterable[Line], do: str, **which: Any) -> Iterator[Line]:
    """Yield the lines of one kind with these values."""
    for line in found:
        if line["do"] == do and all(line.get(k) == v for k, v in which.items()):
            yield line


def _named(params: Params, key: str) -> set[str]:
    return set(filter(None, str(params[key]).split(",")))


def _wanted_on_gpus(found: list[Line]) -> dict[str, bool]:
    """Return whether each pod, by its name, is to be on a node with GPUs: by its own role, not by its run."""
    roles = {line["run"]: line["roles"] for line in of(found, "start") if "roles" in line}
    pods = [line for line in of(found, "pod") if line["run"] in roles]
    return {p["name"]: roles[p["run"]][p["role"]] > 0 for p in pods}


@extractor()
def ava_misplaced(inputs: Inputs, params: Params) -> float:
    """Return how many pods of ``batch`` are on a node of the other kind; NaN where one is on no node, or none was made."""
    found, gpu = lines(inputs), _named(params, "gpu_nodes")
    runs = {line["run"] for line in of(found, "start", batch=params["batch"])}
    wanted = _wanted_on_gpus(found)
    pods = [line for line in of(found, "pod") if line["run"] in runs]
    if not pods or {p["run"] for p in pods} != runs or not all(p["node"] for p in pods):
        return math.nan
    return float(sum((p["node"] in gpu) != wanted[p["name"]] for p in pods))


@extractor()
def ava_started_elsewhere(inputs: Inputs, params: Params) -> float:
    """Return how many pods a kubelet of the other kind of node says it has started; NaN where none says anything."""
    wanted, gpu = _wanted_on_gpus(lines(inputs)), _named(params, "gpu_nodes")
    seen: dict[str, set[str]] = {}
    for text in inputs["events"]:
        for event in json.loads(text)["items"]:
            source, name = event.get("source") or {}, event["involvedObject"]["name"]
            if source.get("component") == "kubelet" and name in wanted:
                seen.setdefault(name, set()).add(str(source.get("host", "")))
    if not seen:
        return math.nan
    return float(sum(any((host in gpu) != wanted[name] for host in hosts) for name, hosts in seen.items()))


@extractor()
def ava_let_in(inputs: Inputs, params: Params) -> float:
    """Return how many pods of runs named ``called`` got a node; NaN where none was tried."""
    found = lines(inputs)
    tried = [
        line for line in found if line["do"] in ("start", "refused") and line.get("name") == params["called"]
    ]
    if not tried:
        return math.nan
    runs = {line["run"] for line in tried if line["do"] == "start"}
    return float(sum(bool(p["node"]) for p in of(found, "pod") if p["run"] in runs))


@extractor()
def ava_refused(inputs: Inputs, params: Params) -> float:
    """Return 1 if a run named ``called`` was refused with 422 each time it was tried, else 0; NaN where none was tried."""
    tried = [
        x for x in lines(inputs) if x["do"] in ("start", "refused") and x.get("name") == params["called"]
    ]
    return float(all(x.get("status") == 422 for x in tried)) if tried else math.nan


def _node(inputs: Inputs, run: str) -> str:
    """Return where a run's pod is; ValueError where it is nowhere."""
    nodes = {p["node"] for p in of(lines(inputs), "pod", run=run)}
    if len(nodes) != 1 or "" in nodes:
        raise ValueError(f"{run} is on {sorted(nodes)}")
    return str(nodes.pop())


@extractor()
def ava_more_left(inputs: Inputs, params: Params) -> float:
    """Return how many GPUs more are left on the node of ``run`` than on the one that fits best; 0 is best fit.

    Group ``before``: the table before the run was started. ``asks``: its GPUs.
    """
    before, asks = table(inputs["before"][0]), int(float(params["asks"]))
    node = _node(inputs, str(params["run"]))
    fitting = [n.free for n in before.values() if n.open and n.free >= asks]
    return float(before[node].free - min(fitting))


@extractor()
def ava_elsewhere(inputs: Inputs, params: Params) -> float:
    """Return 0 if ``run`` is on the node ``node``, else 1."""
    return float(_node(inputs, str(params["run"])) != params["node"])


@extractor()
def ava_other_model(inputs: Inputs, params: Params) -> float:
    """Return 0 if ``run`` is on a node with GPUs of ``model``, else 1; 1 too where no run ("") was given that model."""
    if not params["run"]:
        return 1.0
    return float(table(inputs["before"][0])[_node(inputs, str(params["run"]))].model != params["model"])


def _said(inputs: Inputs, group: str = "journal") -> list[str]:
    """Return what the run has logged; ValueError for nothing."""
    found = [text for line in of(lines(inputs, group), "log") for text in line["lines"]]
    if not found:
        raise ValueError("nothing was logged")
    return found


@extractor()
def ava_child_killed(inputs: Inputs, params: Params) -> float:
    """Return 1 if the process that took too much was ended by SIGKILL, else 0; NaN where its parent does not say."""
    ends = [text.split()[1] for text in _said(inputs) if text.startswith("child ")]
    return float(ends[0] == "-9") if ends else math.nan


@extractor()
def ava_lived_on(inputs: Inputs, params: Params) -> float:
    """Return 1 if its parent continued afterwards, in the same pod, which runs and was never replaced, else 0."""
    reply, pods = _said(inputs), list(of(lines(inputs), "pod"))
    end = next((i for i, text in enumerate(reply) if text.startswith("child ")), len(reply))
    on = any(text.startswith("alive ") for text in reply[end:])
    well = bool(pods) and pods[-1]["phase"] == "Running" and not any(p["restarts"] for p in pods)
    return float(on and well)


@extractor()
def ava_restarted(inputs: Inputs, params: Params) -> float:
    """Return how often its pod was started again."""
    pods = list(of(lines(inputs), "pod"))
    return float(max(p["restarts"] for p in pods)) if pods else math.nan


@extractor()
def ava_explained(inputs: Inputs, params: Params) -> float:
    """Return 1 if the platform reported that its memory was the cause, else 0."""
    return float(any(p["reason"] == "OOMKilled" for p in of(lines(inputs), "pod")))


@extractor()
def ava_neighbour(inputs: Inputs, params: Params) -> float:
    """Return 1 if the neighbour runs, and was never replaced, else 0; NaN where it was not observed."""
    pods = list(of(lines(inputs, "neighbour"), "pod"))
    return float(all(p["phase"] == "Running" and not p["restarts"] for p in pods)) if pods else math.nan


@extractor()
def ava_pause(inputs: Inputs, params: Params) -> float:
    """Return the longest time, milliseconds, in which the neighbour did nothing."""
    reports = [json.loads(text) for text in _said(inputs, "neighbour") if text.startswith("{")]
    return max(float(x["worst_gap_s"]) for x in reports) * 1000


MODE = 0o2770
"""Of a group's folder: its members', and new files are the group's."""


def _told(inputs: Inputs, params: Params) -> tuple[dict[str, Any], dict[str, int]]:
    """Return what the container of the start ``called`` reported, and the user's groups then with their gids."""
    found = lines(inputs)
    (made,) = of(found, "start", name=params["called"])
    messages = [
        json.loads(text) for x in of(found, "log", run=made["run"]) for text in x["lines"] if text[:1] == "{"
    ]
    return messages[0], dict(made["wanted"])


@extractor()
def ava_folders_lacking(inputs: Inputs, params: Params) -> float:
    """Return how many of the user's groups have no folder there, or none that is written to and read."""
    reply, wanted = _told(inputs, params)
    return float(sum(reply["each"].get(group, {}).get("read") != reply["mark"] for group in wanted))


@extractor()
def ava_folders_foreign(inputs: Inputs, params: Params) -> float:
    """Return how many folders of groups are there, or can be looked into, that are none of the user's."""
    reply, wanted = _told(inputs, params)
    return float(len({*reply["there"], *reply["opened"]} - set(wanted)))


@extractor()
def ava_folders_rights(inputs: Inputs, params: Params) -> float:
    """Return how many of the user's groups have a folder with other rights than the group's members'."""
    reply, wanted = _told(inputs, params)
    good = {
        g: x.get("mode") == MODE and x.get("gid") == wanted[g]
        for g, x in reply["each"].items()
        if g in wanted
    }
    return float(sum(not good.get(group) for group in wanted)) if wanted else math.nan


@extractor()
def ava_folders_lost(inputs: Inputs, params: Params) -> float:
    """Return in how many groups' folders the file is not there that the container of the start ``before`` wrote."""
    reply, wanted = _told(inputs, params)
    before, _ = _told(inputs, {"called": params["before"]})
    return float(sum(reply["each"].get(group, {}).get("found") != before["mark"] for group in wanted))


def _may_be(found: list[Line], begun: float, ended: float) -> set[str]:
    """Return the groups that were the default at some moment from ``begun`` to ``ended``.

    A change is made at some moment of its request, which no one knows.
    """
    changes = list(of(found, "default"))
    may = set()
    for change, following in zip(changes, [*changes[1:], None], strict=True):
        last = math.inf if following is None else following["until"]
        if change["t"] < ended and last > begun:
            may.add(change["to"])
    return may


@extractor()
def ava_charged_elsewhere(inputs: Inputs, params: Params) -> float:
    """Return how many runs were charged to a group that was not the default while they were started; NaN for none started."""
    found = lines(inputs)
    made = list(of(found, "start"))
    if not made:
        return math.nan
    return float(sum(x["group"] not in _may_be(found, x["t"], x["until"]) for x in made))


@extractor()
def ava_moved(inputs: Inputs, params: Params) -> float:
    """Return how many runs were seen in another group than that in which they were started; NaN for none."""
    found = lines(inputs)
    made = {x["run"]: x["group"] for x in of(found, "start")}
    later = {x["run"] for x in of(found, "seen") if x["run"] in made and x["group"] != made[x["run"]]}
    return float(len(later)) if made else math.nan


@extractor()
def ava_over_quota(inputs: Inputs, params: Params) -> float:
    """Return how often a group was seen with more than its quota; NaN where none was ever seen with all of it.

    That a group is never full would prove nothing.
    """
    seen = list(of(lines(inputs), "group"))
    full = [x for x in seen if x["quota"] - x["used"] < params["each"]]
    return float(sum(x["used"] > x["quota"] for x in seen)) if full else math.nan


@extractor()
def ava_waited(inputs: Inputs, params: Params) -> float:
    """Return how many runs were seen queued while their group was full."""
    return float(len({x["run"] for x in of(lines(inputs), "quiet-queued")}))


@extractor()
def ava_differing(inputs: Inputs, params: Params) -> float:
    """Return how many groups, with nothing changing, were charged for other than what was admitted; NaN for none seen.

    A run asks for ``each`` thousandths of a core.
    """
    found = lines(inputs)
    quiet = list(of(found, "quiet"))
    if not quiet:
        return math.nan
    return float(sum(x["used"] != x["admitted"] * params["each"] for x in quiet))


@extractor()
def ava_left_charged(inputs: Inputs, params: Params) -> float:
    """Return how many groups are charged for something after all runs have ended; NaN where not all have, or not observed."""
    found = lines(inputs)
    states = {x["run"]: x["state"] for x in of(found, "seen")}
    ends = list(of(found, "end"))
    if not ends or any(state not in ENDED for state in states.values()):
        return math.nan
    return float(sum(x["used"] != 0 for x in ends))
