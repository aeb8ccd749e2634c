"""What a file of avadm's own may hold after a dying disk, an editor or a merge; tests/unit/cli tries all of it."""

GARBAGE = {
    "empty": b"",
    "cut off": b'{"version": 1, "phases": {"base": {',
    "a list": b"[]",
    "a list of lists": b"[[1, 2], {}]",
    "null": b"null",
    "a number": b"42",
    "a word": b'"word"',
    "no keys": b"{}",
    "other keys": b'{"version": 1, "salt": 3, "phases": [], "serial": "x", "result": {}, "hosts": 3}',
    "wrong inside": b'{"version": 1, "salt": "s", "phases": {"base": {"stor1": "done"}}, "result": null, "changed": "x"}',
    "odd times": b'{"version": 1, "serial": 3, "phases": {"base": {"stor1": {"state": "done", "finished": "x", "run": 1}}}}',
    "no text": b"\xff\xfe\x00\x01" * 20,
    "zeros": bytes(40),
    "deep": b"[" * 100_000,
    "odd serial": b'{"version": 1, "serial": "7", "phases": {}}',
    "a huge number": b'{"version": 1, "serial": 1e999, "phases": {}, "seconds": NaN}',
}

FILES = (
    (
        "ledger (`.avadm/SITE/ledger.json`), no copy on a node",
        "plan, status",
        "taken for what it says, or refused: 2",
    ),
    ("fingerprints of what was done", "plan, status", "nothing counts as proven"),
    ("vault, vault password", "apply", "refused before any playbook: 2; the file stays as it is"),
    ("a plan that was kept (`avadm plan --out`)", "apply --plan", "refused before any playbook: 2"),
    (
        "a run's summary, plan, events",
        "runs list, runs show, status",
        "listed all the same; its log is named",
    ),
    ("an acceptance report", "accept verify", "no report: 1 or 2"),
    ("the default site's file (`.avadm/site`)", "site check", "refused: 2"),
)
"""Which file, verbs tried, what comes of it."""
