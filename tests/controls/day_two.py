"""What the verbs of day two are tried under: the rows of evidence/day-two.md, measured or not."""

VERBS = (
    "node drain",
    "maintenance begin",
    "maintenance end",
    "power down",
    "power up",
    "disk replace",
    "node add",
    "node remove",
    "node replace",
    "upgrade",
    "upgrade ceph",
    "upgrade kubernetes",
    "upgrade calico",
    "upgrade ava",
    "cache masters",
    "operation abandon",
)
"""Verbs; `upgrade` is that of the small components."""

LOADS = {
    "S": "storage: files on cephfs, fio's verify on an rbd image, objects",
    "K": "Kubernetes: a write through the API's virtual address every 0.3 s, requests to a service of two replicas",
    "A": "AVA: a run every 10 s, a training with checkpoints, an open ssh session in a workbench",
    "Q": "PostgreSQL: rows, each committed",
}
"""Loads by letter (tests/lab/day2/loads)."""

UNINTERRUPTED = "not interrupted"
KILLED_AT_STEPS = "kill -9 at each step"
KILLED_AT_RANDOM = "kill -9 at random"
POWER_OFF = "power-off of the node at work"
CUT_OFF = "controller cut off for 60 s"
INTERRUPTIONS = (UNINTERRUPTED, KILLED_AT_STEPS, KILLED_AT_RANDOM, POWER_OFF, CUT_OFF)
"""Where a verb is interrupted; one that is killed or fails is continued by the same command."""

GOALS_S = {"rbd": 10.0, "s3": 10.0, "cephfs": 30.0, "api": 10.0, "rows": 10.0}
"""Longest pause that a client of a load may see, seconds (issue 32, "Figures to reach"); `api` on three masters."""
