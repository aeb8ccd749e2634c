"""The suites: one folder each, whose ``run.py`` says what it is (``SUITE``). A further one is its folder and its name here."""

NAMES = ("storage", "objects", "alluxio", "kubernetes", "platform", "cis", "logs")
"""All, in the order in which they run: what stops a part of the cluster comes after what only reads and writes."""
ALONE = frozenset({"cis"})
"""Those that run only where they are asked for by name."""
