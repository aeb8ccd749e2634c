"""`avadm support collect`: collect → redact → analyse, into one bundle."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from avadm import __version__
from avadm.checks.evidence import Snapshot, parse
from avadm.components.catalog import COMPONENTS
from avadm.doctor.bundle import SNAPSHOT, pack
from avadm.doctor.checks import CHECKS
from avadm.doctor.collect import collect
from avadm.doctor.redaction import Cleaner, secrets_of
from avadm.doctor.waivers import judge
from avadm.remote.call import ask, mapping
from avadm.remote.fleet import Fleet
from avadm.site.load import SiteFile
from avadm.state.run_folder import list_runs
from avadm.state.site_state import state_folder
from avadm_node.probes import support

TIMEOUT = 180.0
"""Seconds for a node's journal and configurations."""
RUNS = 5
"""Last runs whose logs are taken."""
JOURNAL = 8 * 1024 * 1024
"""Characters of a node's journal, the last ones."""
LOG = 4 * 1024 * 1024
"""Characters of a run's log, the last ones."""
CONFIGURATIONS = sorted({pattern for c in COMPONENTS for pattern in c.configurations})
"""What is taken of a node: named files, never a whole tree."""
LEFT_OUT = {
    "SITE.vault.yml, SITE.vault-pass, keys beside the site file": "secrets",
    "runs/*/inventory": "rendered variables may hold what a site file's author did not mark as secret",
    "Secrets of Kubernetes, objects of users, contents of volumes": "not asked for",
}


@dataclass
class _Content:
    """What goes into the bundle.

    Attributes:
        cleaner: takes secrets out.
        files: name to redacted text.
        masked: name to how many places were masked, where any were.
        left_out: name to the reason.
    """

    cleaner: Cleaner
    files: dict[str, str] = field(default_factory=dict)
    masked: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=lambda: dict(LEFT_OUT))

    def add(self, name: str, text: str) -> None:
        """Redact a text and take it in."""
        before = self.cleaner.masked
        self.files[name] = self.cleaner.text(text)
        if count := self.cleaner.masked - before:
            self.masked[name] = count


def make(
    site_file: SiteFile, fleet: Fleet, out: Path, since: str, step: Callable[[str], None] = lambda words: None
) -> Snapshot:
    """Collect, redact, analyse and write a bundle; return the snapshot that is in it.

    Args:
        site_file: the site.
        fleet: how to reach its nodes.
        out: the bundle.
        since: how far back the journal is taken, as journalctl says it.
        step: called with the current step.

    Raises:
        AvadmError: the vault cannot be opened (nothing could be redacted then), or the bundle cannot be written.
    """
    content = _Content(Cleaner(secrets_of(site_file)))
    step("asking the nodes")
    snapshot = collect(site_file, fleet, redactor=content.cleaner)
    masked = content.cleaner.masked
    step("fetching journals and configurations")
    _nodes(content, site_file, fleet, since)
    _controller(content, site_file)
    step("redacting and analysing")
    # Each text in it has been redacted by itself, so that it is still JSON; what its reader will judge, is judged here.
    content.files[SNAPSHOT] = snapshot.as_json()
    content.masked |= {SNAPSHOT: masked} if masked else {}
    clean = parse(content.files[SNAPSHOT], SNAPSHOT)
    results = judge(clean, CHECKS).rows()
    content.files["doctor.json"] = json.dumps({"checks": results}, indent=1, ensure_ascii=False) + "\n"
    about = {
        "avadm": __version__,
        "site": site_file.site.name,
        "taken": snapshot.taken,
        "since": since,
        "redacted": content.masked,
        "left_out": content.left_out,
        "kept": "host names, IP addresses and names of users and pods are kept: they are needed for support",
    }
    pack(out, f"support-{site_file.site.name}", content.files, about)
    return clean


def _nodes(content: _Content, site_file: SiteFile, fleet: Fleet, since: str) -> None:
    """Take journal, configurations and versions of every node."""
    params = {"patterns": CONFIGURATIONS, "since": since, "most": JOURNAL}
    python, names = site_file.profile.python, [n.name for n in site_file.site.nodes]
    given = dict.fromkeys(names, params)
    answers = ask(fleet, python, support.extracts, given, read=mapping, timeout=TIMEOUT)
    for name, answer in answers.items():
        found = answer.value
        if found is None:
            content.left_out[f"nodes/{name}"] = f"the node gave nothing: {content.cleaner.text(answer.why)}"
            continue
        for path, text in found["files"].items():
            if text:
                content.add(f"nodes/{name}/{path}", text)
        for path, reason in found["left_out"].items():
            content.left_out[f"nodes/{name}/{path}"] = reason


def _controller(content: _Content, site_file: SiteFile) -> None:
    """Take the site file, the state and the last runs."""
    content.add("controller/site.yml", site_file.path.read_text(encoding="utf-8", errors="replace"))
    folder = state_folder(site_file.path, site_file.site.name)
    for name in ("ledger.json", "fingerprints.json"):
        if (folder / name).is_file():
            content.add(f"controller/{name}", (folder / name).read_text(encoding="utf-8", errors="replace"))
    # Of another site the secrets are not known, so that none could be taken out.
    for run in [r for r in list_runs() if r.site == site_file.site.name][-RUNS:]:
        for name in ("log.txt", "summary.json", "plan.json"):
            path = run.path / name
            try:
                text = path.read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            content.add(f"controller/runs/{run.id}/{name}", text[-LOG:])
