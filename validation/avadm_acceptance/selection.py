"""Which suites of acceptance a run is asked for, which of them the site has, and the message for those that it lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.site.load import SiteFile
from avadm_validation import registry
from avadm_validation.measuring.runner import Runner
from avadm_validation.measuring.schedule import make
from avadm_validation.protocol.model import CheckResult
from avadm_validation.suites import ALONE, NAMES


def choose(only: Sequence[str], suite: str = "all") -> list[str]:
    """Return the ids of checks by what was typed (case and the ``A-`` may be left out); AvadmError for unknown ones."""
    there = sorted(i for name, own in registry.ids().items() if suite in ("all", name) for i in own)
    found = {
        next((i for i in there if i.removeprefix("A-") == w.upper().removeprefix("A-")), ""): w for w in only
    }
    unknown = [w for w in only if w not in found.values() or found.get("") == w]
    if unknown:
        raise AvadmError.of(
            "unknown-check", where="--only", found=", ".join(unknown), wanted=", ".join(there)
        )
    return list(found)


def execute(runner: Runner, only: Sequence[str], suite: str, site_file: SiteFile) -> list[CheckResult]:
    """Run the suites that are asked for, by name or by their checks, and that the site has.

    Raises:
        AvadmError: the site lacks what a suite measures that was asked for by name, or one of its checks was; or it has none
            of what they measure.
    """
    suites = registry.suites()
    named = {name: [i for i in only if i in own] for name, own in registry.ids().items()}
    whole = [name for name in NAMES if name not in ALONE] if suite == "all" else [suite]
    asked = [name for name in NAMES if (named[name] if only else name in whole)]
    there = [name for name in asked if getattr(runner.target, suites[name].target) is not None]
    # With nothing there at all a run of everything would end well without having measured anything.
    if (only or suite != "all" or not there) and len(there) < len(asked):
        raise AvadmError(list(_lacks([name for name in asked if name not in there], site_file)))
    return make(runner, [(suites[name].open, named[name]) for name in there])


def _lacks(names: Sequence[str], site_file: SiteFile) -> Iterator[Finding]:
    for name in names:
        lack = registry.suites()[name].lack
        yield Finding(
            lack.check,
            f"The suite {name} needs {lack.needs}.",
            site_file.where([lack.key]),
            lack.found,
            lack.wanted,
            lack.remedy,
        )
