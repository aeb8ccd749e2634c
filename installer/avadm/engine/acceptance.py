"""Acceptance glue: site file + fleet + run folder → a suite's run and its report; and verification of a report."""

from __future__ import annotations

import hashlib
import secrets
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from avadm import paths
from avadm.artifacts.manifest import named
from avadm.engine.ledger import state_folder
from avadm.engine.lock import locked
from avadm.engine.runfolder import RunFolder
from avadm.errors import AvadmError
from avadm.findings import Finding
from avadm.pki import plan
from avadm.runner.fleet import Fleet
from avadm.site.load import SiteFile
from avadm.site.model import Site
from avadm.site.render.addons import IMAGES, REGISTRY_PORT
from avadm.site.render.ceph import rbd_entity
from avadm.site.render.kube_nodes import limits
from avadm.site.render.volumes import classes
from avadm_validation.protocol.criteria import Criteria
from avadm_validation.protocol.model import CheckResult, Class, Report
from avadm_validation.protocol.verify import verify
from avadm_validation.suites.cis import run as cis
from avadm_validation.suites.cis.controls import criteria as cis_criteria
from avadm_validation.suites.cis.run import CHECKS as CIS
from avadm_validation.suites.kubernetes import run as kubernetes
from avadm_validation.suites.kubernetes.checks import CHECKS as KUBERNETES
from avadm_validation.suites.runner import Suite, class_of, now
from avadm_validation.suites.storage import CHECKS
from avadm_validation.suites.storage.context import KubeTarget, MeasureError, Step, Target
from avadm_validation.suites.storage.environment import environment, versions
from avadm_validation.suites.storage.extract import compute, facts

Effort = Literal["quick", "full"]
Suites = Literal["all", "storage", "kubernetes", "cis"]
MIN_SIZE_NOTE = (
    "The pools keep {replicas} copies and go on with {least}: with one copy left, acknowledged writes are lost if that "
    "copy is lost before the other is back. Three copies with two needed remove this risk."
)


def target_of(site_file: SiteFile) -> Target:
    """Return what acceptance measures at a site; what the site does not have is None, empty or ""."""
    site, ceph = site_file.site, site_file.site.components.ceph
    clients, mons = site.with_role("client"), site.with_role("mon")
    pool = ceph.rbd_pools[0].name if ceph.rbd_pools else None
    notes = []
    if mons and ceph.min_replicas < 2:
        notes.append(MIN_SIZE_NOTE.format(replicas=ceph.replicas, least=ceph.min_replicas))
    return Target(
        site=site.name,
        profile=site.profile,
        kind="lab" if site_file.profile.features.get("acceptance") == "lab" else "site",
        clients=tuple(n.name for n in clients),
        mon=mons[0].name if mons else "",
        nodes=tuple(n.name for n in site.nodes),
        mds=tuple(n.name for n in site.with_role("mds")),
        mount=ceph.filesystem.mount if ceph.filesystem and site.with_role("mds") else None,
        pool=pool,
        rbd_user=rbd_entity(pool).removeprefix("client.") if pool else "",
        python=site_file.profile.python,
        ceph_python=site_file.profile.ceph_python or site_file.profile.python,
        max_skew_ms=site.time.max_skew_ms,
        notes=tuple(notes),
        kube=_kubernetes(site),
    )


def _kubernetes(site: Site) -> KubeTarget | None:
    """Return what is measured of a site's Kubernetes; None without masters."""
    masters = site.with_role("master")
    if not masters:
        return None
    inside = [n for n in site.nodes if {"master", "worker"} & set(n.roles)]
    outside = [n.name for n in site.nodes if n not in inside and "ingress" not in n.roles]
    (artifact,) = named(("kubernetes",))
    vip = site.network.ingress_vip if site.with_role("ingress") else None
    knobs, kinds = site.components.kubernetes, tuple(classes(site))
    registry = f"{plan.registry_name(site)}:{REGISTRY_PORT}/" if site.with_role("registry") else ""
    return KubeTarget(
        master=masters[0].name,
        nodes=tuple(n.name for n in inside),
        version=f"v{artifact.version}",
        image=registry + IMAGES["base-image"],
        domain=site.network.domain,
        addresses={n.name: str(n.address) for n in site.nodes},
        ingress=str(vip or ""),
        balancer=(str(pool.first), str(pool.last)) if (pool := site.network.load_balancer) else (),
        outside=outside[0] if outside else "",
        gpu_nodes=tuple(n.name for n in site.with_role("gpu")),
        masters=tuple(n.name for n in masters),
        etcd=tuple(n.name for n in site.with_role("etcd")),
        cluster_domain=plan.CLUSTER_DOMAIN,
        classes=kinds,
        default_class=knobs.default_class if knobs.default_class in kinds else "",
        mounters=tuple(n.name for n in site.nodes if {"client", "worker"} <= set(n.roles)),
        kubelet=limits(knobs),
    )


def choose(only: Sequence[str], suites: Suites = "all") -> list[str]:
    """Return the ids of checks by what was typed (case and the ``A-`` may be left out); AvadmError for unknown ones."""
    known = {
        "storage": [c.ID for c in CHECKS],
        "kubernetes": [c.ID for c in KUBERNETES],
        "cis": [c.ID for c in CIS],
    }
    there = sorted(i for name, ids in known.items() if suites in ("all", name) for i in ids)
    found = {
        next((i for i in there if i.removeprefix("A-") == w.upper().removeprefix("A-")), ""): w for w in only
    }
    unknown = [w for w in only if w not in found.values() or found.get("") == w]
    if unknown:
        raise AvadmError(
            Finding(
                "unknown-check", "There is no such check.", "--check", ", ".join(unknown), ", ".join(there)
            )
        )
    return list(found)


def run(
    site_file: SiteFile,
    fleet: Fleet,
    folder: RunFolder,
    *,
    only: Sequence[str] = (),
    suites: Suites = "all",
    effort: Effort = "full",
    seed: int | None = None,
    progress: Callable[[Step], None] = lambda step: None,
    finished: Callable[[CheckResult], None] = lambda result: None,
) -> Report:
    """Measure, judge, and write the report into ``FOLDER/report``.

    Raises:
        AvadmError: another run holds the site, or the clients cannot be used at all.
    """
    target = target_of(site_file)
    report_folder = folder.path / "report"
    report_folder.mkdir()
    criteria = _criteria("lab" if target.kind == "lab" else "site-full")
    suite = Suite(
        target,
        fleet,
        report_folder,
        criteria,
        effort,
        folder.id.partition("-")[0].lower() + secrets.token_hex(2),
        seed=secrets.randbelow(10**6) if seed is None else seed,
        progress=progress,
        finished=finished,
    )
    started, commit = now(), _commit()
    with locked(state_folder(site_file.path, target.site), "accept"):
        try:
            checks = _execute(suite, only, suites, site_file)
        except MeasureError as error:
            raise AvadmError(
                Finding(
                    "acceptance-not-possible",
                    "The suite could not start.",
                    target.site,
                    str(error),
                    "clients and a mon node that answer",
                    "See `avadm status` and `avadm preflight`; apply what is missing.",
                )
            ) from error
    report = Report(
        site=target.site,
        profile=target.profile,
        suite=_name(checks),
        effort=effort,
        class_=class_of(target.kind, effort),
        started=started,
        finished=now(),
        seed=suite.seed,
        versions=versions(checks, report_folder),
        git_commit=commit,
        config_hash=criteria.digest(),
        inventory_hash=hashlib.sha256(site_file.path.read_bytes()).hexdigest(),
        environment=environment(target, checks, report_folder),
        notes=[*target.notes, *suite.left],
        checks=checks,
    )
    report = suite.manifest.seal(report, report_folder)
    _write(report, report_folder)
    return report


def _criteria(class_: Class) -> Criteria:
    """Return what judges a run of a class: the lab's numbers or the plan's, and the controls."""
    lab = class_ == "lab"
    criteria = Criteria.load("lab" if lab else "stated")
    criteria.add(cis_criteria("lab" if lab else "site-full"))
    return criteria


def _execute(suite: Suite, only: Sequence[str], suites: Suites, site_file: SiteFile) -> list[CheckResult]:
    """Run the suites that are asked for, by name or by their checks, and that the site has.

    Raises:
        AvadmError: the site lacks what a suite measures that was asked for by name, or one of its checks was; or it has none
            of what they measure.
    """
    of = {"kubernetes": {c.ID for c in KUBERNETES}, "cis": {c.ID for c in CIS}}
    named = {name: [i for i in only if i in ids] for name, ids in of.items()}
    named["storage"] = [i for i in only if not any(i in ids for ids in of.values())]
    whole = {"storage", "kubernetes"} if suites == "all" else {suites}
    asked = {name for name, own in named.items() if own} if only else whole
    lacks = {}
    if suite.target.storage is None:
        lacks["storage"] = (
            "The storage suite needs",
            "mon and client",
            "one of each; two clients for what several do at once",
        )
    if suite.target.kube is None:
        lacks |= dict.fromkeys(of, ("The suites kubernetes and cis need", "master", "one, three or five"))
    # With nothing there at all a run of everything would end well without having measured anything.
    if (only or suites != "all" or asked <= set(lacks)) and asked & set(lacks):
        raise AvadmError(
            [_lack(site_file, *lack) for lack in dict.fromkeys(lacks[n] for n in sorted(asked & set(lacks)))]
        )
    there = asked - set(lacks)
    checks = suite.execute(named["storage"]) if "storage" in there else []
    checks += kubernetes.execute(suite, named["kubernetes"]) if "kubernetes" in there else []
    checks += cis.execute(suite, named["cis"]) if "cis" in there else []
    return checks


def _lack(site_file: SiteFile, who: str, roles: str, wanted: str) -> Finding:
    where, remedy = site_file.where(["nodes"]), f"Give nodes the role {roles} and apply."
    return Finding("no-role", f"{who} nodes with the role {roles}.", where, "none", wanted, remedy)


def _name(checks: Sequence[CheckResult]) -> str:
    """Return the names of the suites that a report's checks are of."""
    starts = {"K-": "kubernetes", "CIS-": "cis"}
    found = [next((n for s, n in starts.items() if c.id.startswith(s)), "storage") for c in checks]
    return " and ".join(dict.fromkeys(found))


def verified(where: Path) -> tuple[Report, list[str]]:
    """Return a report and what does not agree with its raw files; AvadmError where there is no report."""
    path = where / "report.json" if where.is_dir() else where
    if where.is_dir() and not path.is_file():
        path = where / "report" / "report.json"
    try:
        report = Report.load(path)
    except (OSError, ValidationError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error).splitlines()[0]
        raise AvadmError(
            Finding("no-report", "This is not a report.", str(path), why or "", "a report.json or its folder")
        ) from error
    criteria = _criteria(report.class_)
    return report, verify(report, path.parent, compute, facts, criteria)


def _write(report: Report, folder: Path) -> None:
    from avadm.report import write

    write(report, folder)


def _commit() -> str:
    """Return the commit that measured, ``-dirty`` with local changes; "" outside a checkout or without git."""
    try:
        done = subprocess.run(
            ["git", "-C", str(paths.home()), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout.strip()
