"""What a store's lines say, as metrics for the node exporter: rates, new error patterns, known troubles.

Run once a minute by a timer, on each store, for that store alone: with two, each tells what it has, and alerts take the
greater. Counts go by when lines were written: those that arrive later than LAG_S are in the store, but not counted.
Python 3.5 or later.
"""

import argparse
import base64
import json
import os
import re
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from .patterns import normalised

LAG_S = 15
"""Seconds that a line may take to arrive and still be counted."""
NEW_SECONDS = 3600
"""Seconds for which a new pattern is reported."""
MAX_NAMED = 20
"""New patterns that are reported by name at most; the rest are a number."""
KEPT = 5000
"""Patterns that are remembered at most; the ones not seen for the longest go first."""
LINES = 5000
"""Error lines that are looked at in one run, the newest."""
CLASS = {"warning": "warning", "err": "error", "crit": "fatal", "alert": "fatal", "emerg": "fatal"}
ERRORS = "severity:in(err,crit,alert,emerg)"
OURS = (
    "-component:in(pod) -component:in(prometheus,prometheus-alertmanager,avadm-log-watch,avadm-log-shipper)"
)
"""Not what tenants' pods write: who may run a pod could raise any alert. Not what repeats an alert's own words."""
SELF = "-component:in(avadm-log-watch,avadm-log-shipper)"


class StoreError(Exception):
    """The store does not answer, or not as it should."""


class Store:
    """The store of this node.

    Args:
        url: where it answers.
        user, password: what it wants.
        authority: file with the certificate of its authority; "" for plain HTTP.
    """

    def __init__(self, url, user, password, authority):
        self.url = url
        word = base64.b64encode(("%s:%s" % (user, password)).encode()).decode()
        self.headers = {"Authorization": "Basic " + word}
        handlers = [urllib.request.ProxyHandler({})]
        if authority:
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=authority)))
        self.opener = urllib.request.build_opener(*handlers)

    def get(self, path, **params):
        """Return what the store answers, text; StoreError."""
        body = urllib.parse.urlencode(params).encode() if params else None
        request = urllib.request.Request(self.url + path, data=body, headers=self.headers)
        try:
            with self.opener.open(request, timeout=25) as answer:
                return answer.read().decode("utf-8", "replace")
        except (OSError, urllib.error.URLError, ValueError) as error:
            raise StoreError("%s: %s" % (path, error))

    def counts(self, query, by, at):
        """Return labels and count of each group."""
        text = self.get(
            "/select/logsql/stats_query",
            query="%s | stats by (%s) count() lines" % (query, ", ".join(by)),
            time=repr(at),
        )
        try:
            found = json.loads(text)["data"]["result"]
            return [
                (tuple(row["metric"].get(name, "") for name in by), int(float(row["value"][1])))
                for row in found
            ]
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise StoreError("stats_query: %s: %s" % (error, text[:200]))

    def lines(self, query):
        """Return lines as mappings."""
        text = self.get("/select/logsql/query", query=query, limit=str(LINES))
        found, broken = [], ""
        # A line feed alone ends a record: what programs print may hold any other separator that Unicode knows.
        for row in text.split("\n"):
            try:
                record = json.loads(row) if row.strip() else None
                found += [record] if isinstance(record, dict) else []
            except ValueError as error:
                broken = "query: %s: %s" % (error, row[:200])
        if broken and not found:
            raise StoreError(broken)
        if broken:
            print("a record is left out: %s" % broken, file=sys.stderr)
        return found


def between(start, end):
    """Return the filter for lines written from start (inclusive) to end, seconds."""
    return "_time:[%s, %s)" % tuple(
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + ".%03dZ" % (at % 1 * 1000)
        for at in (start, end)
    )


def trouble_query(trouble):
    """Return the filter for lines of a known trouble, of whatever time."""
    words = " or ".join("%s*" % json.dumps(word, ensure_ascii=False) for word in trouble["words"])
    where = SELF if trouble.get("pods") else OURS
    return "%s (%s) _msg:~%s" % (where, words, json.dumps(trouble["pattern"], ensure_ascii=False))


class Watch:
    """What is remembered from run to run, and what it makes of the lines.

    Args:
        state: what the last run left; {} at first.
        now: seconds.
        learning_s: seconds after the first run in which no pattern is reported.
        pattern_s: seconds without being seen after which a pattern is new again.
    """

    def __init__(self, state, now, learning_s, pattern_s):
        self.now, self.learning_s, self.pattern_s = now, learning_s, pattern_s
        self.since = state.get("since", now)
        self.until = min(state.get("until", now - 300), now - LAG_S)
        self.totals = {tuple(k): v for k, v in state.get("totals", [])}
        self.patterns = state.get("patterns", {})

    @property
    def learning(self):
        """Whether new patterns are only learnt."""
        return self.now < self.since + self.learning_s

    def state(self):
        """Return what the next run needs."""
        kept = sorted(self.patterns.items(), key=lambda item: -item[1]["last"])[:KEPT]
        totals = [[list(k), v] for k, v in sorted(self.totals.items())]
        return {"since": self.since, "until": self.now - LAG_S, "totals": totals, "patterns": dict(kept)}

    def count(self, found):
        """Add lines by (host, component, severity)."""
        for (host, component, severity), lines in found:
            key = (host, component, CLASS.get(severity, "error"))
            self.totals[key] = self.totals.get(key, 0) + lines

    def learn(self, lines):
        """Take error lines."""
        for line in lines:
            component, host = str(line.get("component", "")), str(line.get("host", ""))
            pattern = normalised(str(line.get("_msg", "")))
            if not pattern:
                continue
            key = component + " " + pattern
            known = self.patterns.get(key)
            if known is None or self.now - known["last"] > self.pattern_s:
                known = {"component": component, "pattern": pattern, "host": host, "first": self.now}
                known["told"] = not self.learning
                self.patterns[key] = known
            known["last"] = self.now

    def new(self):
        """Return the patterns that are reported now, the newest first."""
        fresh = [p for p in self.patterns.values() if p["told"] and self.now - p["first"] < NEW_SECONDS]
        return sorted(fresh, key=lambda p: (-p["first"], p["component"], p["pattern"]))


def escaped(text):
    """Return a label's value."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def series(name, type_, about, rows):
    """Return one metric's text; rows are of a mapping of labels and a value."""
    out = ["# HELP %s %s" % (name, about), "# TYPE %s %s" % (name, type_)]
    for labels, value in rows:
        inner = ",".join('%s="%s"' % (k, escaped(v)) for k, v in sorted(labels.items()))
        out.append("%s%s %s" % (name, "{%s}" % inner if inner else "", value))
    return out


def metrics_text(watch, troubles, facts, up):
    """Return the whole text for the exporter.

    Args:
        watch: what is remembered.
        troubles: (id, host) to lines of the last five minutes.
        facts: name to number, of the store itself.
        up: whether the store has answered.
    """
    totals = [
        ({"host": host, "component": component, "severity": severity}, value)
        for (host, component, severity), value in sorted(watch.totals.items())
    ]
    new = watch.new()
    named = [{k: p[k] for k in ("host", "component", "pattern")} for p in new[:MAX_NAMED]]
    out = series("avadm_log_store_up", "gauge", "Whether the store answers.", [({}, int(up))])
    out += series("avadm_log_lines_total", "counter", "Lines by severity class.", totals)
    out += series(
        "avadm_log_new_pattern", "gauge", "An error pattern of the last hour.", [(n, 1) for n in named]
    )
    out += series("avadm_log_new_patterns", "gauge", "How many there are.", [({}, len(new))])
    out += series(
        "avadm_log_learning", "gauge", "Whether patterns are only learnt.", [({}, int(watch.learning))]
    )
    found = [({"id": i, "host": h}, n) for (i, h), n in sorted(troubles.items())]
    out += series("avadm_log_trouble_lines", "gauge", "Lines of a known trouble, five minutes.", found)
    for name in sorted(facts):
        out += series("avadm_log_store_" + name, "gauge", "Of the store itself.", [({}, facts[name])])
    return "\n".join(out) + "\n"


FACTS = {
    "vl_free_disk_space_bytes": "free_bytes",
    "vl_storage_is_read_only": "read_only",
    "vl_data_size_bytes": "data_bytes",
    "vl_rows_ingested_total": "taken",
    "vl_rows_dropped_total": "dropped",
}


def facts_of(text):
    """Return the series of the store from its own metrics, summed over labels."""
    found = {}
    for line in text.split("\n"):
        match = re.match(r"(\w+)(?:\{.*\})? (\S+)$", line)
        if match and match.group(1) in FACTS:
            name = FACTS[match.group(1)]
            found[name] = found.get(name, 0) + float(match.group(2))
    return {name: "%.0f" % value for name, value in found.items()}


def look(store, watch, troubles):
    """Ask the store all that is reported; return (lines of troubles, facts of the store); StoreError."""
    facts = facts_of(store.get("/metrics"))
    window = between(watch.until, watch.now - LAG_S)
    severities = ",".join(sorted(CLASS))
    query = "%s severity:in(%s)" % (window, severities)
    watch.count(store.counts(query, ("host", "component", "severity"), watch.now))
    watch.learn(store.lines("%s %s %s | fields host, component, _msg" % (window, ERRORS, OURS)))
    found = {}
    for trouble in troubles:
        for (host,), lines in store.counts("_time:5m " + trouble_query(trouble), ("host",), watch.now):
            found[(trouble["id"], host)] = lines
    return found, facts


def write(path, text, mode):
    """Write a file at once and whole."""
    descriptor = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w") as out:
        out.write(text)
    os.chmod(path + ".new", mode)
    os.rename(path + ".new", path)


def loaded(path):
    """Return the state of the last run; {} where there is none, or none that can be read."""
    try:
        with open(path) as file:
            found = json.load(file)
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def main():
    """Look once, or end the time of learning; exit status 1 where the store does not answer."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--config", required=True, help="file of settings, JSON")
    parser.add_argument(
        "--learnt", action="store_true", help="end the time of learning now, and do nothing else"
    )
    options = parser.parse_args()
    with open(options.config) as file:
        config = json.load(file)
    now, state = time.time(), loaded(config["state"])
    if options.learnt:
        state["since"] = 0
        write(config["state"], json.dumps(state), 0o600)
        return 0
    with open(config["password"]) as file:
        store = Store(config["url"], config["user"], file.read().strip(), config["authority"])
    with open(config["troubles"]) as file:
        troubles = json.load(file)["troubles"]
    seconds = int(config["learning_s"]), int(config["pattern_s"])
    watch = Watch(state, now, *seconds)
    try:
        found, facts = look(store, watch, troubles)
    except StoreError as error:
        # What was counted stays, and the next run counts from where the last good one ended.
        print(error, file=sys.stderr)
        write(config["out"], metrics_text(Watch(state, now, *seconds), {}, {}, False), 0o644)
        return 1
    write(config["state"], json.dumps(watch.state()), 0o600)
    write(config["out"], metrics_text(watch, found, facts, True), 0o644)
    return 0
