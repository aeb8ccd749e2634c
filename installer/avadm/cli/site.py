"""`avadm site`: write, check, show, choose and render the site file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from avadm import paths
from avadm.cli.main import App, pass_app
from avadm.cli.output import as_dicts, console, grouped, heading, print_findings, print_json
from avadm.cli.site_init import init
from avadm.errors import EXIT_COULD_NOT_RUN, EXIT_GOOD
from avadm.findings import Severity, errors
from avadm.quantity import quantity

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
FILE = click.argument("file", required=False, type=click.Path(path_type=Path))


@click.group()
def site() -> None:
    """Write, check and show the site file."""


@site.command()
@FILE
@JSON
@pass_app
def check(app: App, file: Path | None, as_json: bool) -> int:
    """Check a site file as a whole: every error and warning of one pass.

    A file that lacks only the devices of storage nodes is good as a draft: `avadm disk approve` completes it.
    Exit status: 0 no errors (warnings may be), 2 errors, or the file cannot be read.
    """
    from avadm.inventory.vault_guard import lost
    from avadm.site.load import DRAFT, examine
    from avadm.site.vault import Vault

    path = file or app.resolved_site
    site_file, findings = examine(path, DRAFT)
    if site_file and (gone := lost(site_file, Vault.open(site_file.path))):
        findings.append(gone)
    bad = errors(findings)
    if as_json:
        draft = bool(site_file and site_file.draft)
        print_json({"site": str(path), "ok": not bad, "draft": draft, "findings": as_dicts(findings)})
        return EXIT_COULD_NOT_RUN if bad else EXIT_GOOD
    print_findings(findings)
    printed = Counter(finding.severity for finding, _ in grouped(findings))
    tally = f"{quantity(printed[Severity.ERROR], 'error')}, {quantity(printed[Severity.WARNING], 'warning')}"
    if site_file is None or bad:
        console.print(f"{path}: {tally}", markup=False)
        return EXIT_COULD_NOT_RUN
    nodes = len(site_file.site.nodes)
    good = "good as a draft without devices" if site_file.draft else "good"
    console.print(
        f"{path}: {good} ({quantity(nodes, 'node')}, profile {site_file.profile.name}; {tally})", markup=False
    )
    return EXIT_GOOD


@site.command()
@FILE
@click.option("--profiles", is_flag=True, help="List the version profiles instead.")
@click.option("--schema", "as_schema", is_flag=True, help="Print the JSON Schema of site files instead.")
@JSON
@pass_app
def show(app: App, file: Path | None, profiles: bool, as_schema: bool, as_json: bool) -> None:
    """Show nodes, roles, racks, devices and networks."""
    if as_schema:
        from avadm.site.schema import schema

        print_json(schema())
    elif profiles:
        _profiles(as_json)
    else:
        from avadm.site.load import DRAFT, load

        site_file = load(file or app.resolved_site, DRAFT)
        if as_json:
            print_json(
                {
                    "path": str(site_file.path),
                    "site": site_file.site.model_dump(mode="json"),
                    "profile": site_file.profile.model_dump(mode="json"),
                    "warnings": as_dicts(site_file.warnings),
                }
            )
        else:
            from avadm.cli.site_table import print_site

            print_site(site_file)


@site.command()
@FILE
@click.option(
    "--out",
    "folder",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where to write it.",
)
@JSON
@pass_app
def render(app: App, file: Path | None, folder: Path, as_json: bool) -> None:
    """Write the Ansible inventory, for ansible-playbook by hand."""
    from avadm.inventory.desired import Desired, Keyring
    from avadm.inventory.render import write
    from avadm.inventory.vault_guard import refuse_other
    from avadm.site.load import DRAFT, load
    from avadm.state.bootstrap_marks import variables
    from avadm.state.site_state import SiteState

    site_file = load(file or app.resolved_site, DRAFT)
    ledger = SiteState.of(site_file.path, site_file.site.name)
    keyring = Keyring.open(site_file.path)
    refuse_other(keyring.vault, ledger.bootstrapped("vault"))
    rendered = write(Desired.make(site_file, keyring), folder, variables(ledger, site_file.site))
    if as_json:
        print_json(
            {
                "folder": str(rendered.folder),
                "groups": rendered.groups,
                "ansible_args": rendered.ansible_args(),
            }
        )
        return
    console.print(f"Written: {rendered.folder}", markup=False)
    for group, names in rendered.groups.items():
        console.print(f"  {group:<16}{quantity(len(names), 'node')}", markup=False)
    console.print(f"\nBy hand, in {paths.home()}:", markup=False)
    console.print(f"  ansible-playbook {' '.join(rendered.ansible_args())} playbooks/base.yml", markup=False)


@site.command()
@click.argument("file", type=click.Path(path_type=Path))
def use(file: Path) -> None:
    """Make a site file the default of this checkout."""
    from avadm.errors import AvadmError
    from avadm.site.load import DRAFT, examine

    path = file.absolute()
    _, findings = examine(path, DRAFT)
    pointer = paths.default_site_pointer()
    try:
        pointer.parent.mkdir(parents=True, exist_ok=True)
        pointer.write_text(f"{path}\n", encoding="utf-8")
    except OSError as error:
        raise AvadmError.of("pointer-unwritable", where=str(pointer), found=error.strerror or "") from error
    console.print(f"Default site: {path}", markup=False)
    if bad := errors(findings):
        console.print(f"It still has {quantity(len(bad), 'error')}: see `avadm site check`.", markup=False)


@site.command()
@click.argument("key", required=False, default="")
@JSON
def explain(key: str, as_json: bool) -> None:
    """Explain a key of the site file: `avadm site explain network.management`; without KEY, the keys at the top."""
    from dataclasses import asdict

    from avadm.site.key_help import key as find

    found = find(key)
    if as_json:
        print_json(asdict(found))
        return
    if found.path:
        heading(found.path)
        for name, value in (("type", found.type), ("default", found.default), ("meaning", found.meaning)):
            console.print(f"  {name:<9}{value}", markup=False, highlight=False)
    if found.below:
        heading(f"Keys of {found.path}" if found.path else "Keys of the site file")
    for one in found.below:
        console.print(f"  {one.path:<24} {one.type}; default: {one.default}", markup=False, highlight=False)
        console.print(f"    {one.meaning}", markup=False, highlight=False)


def _profiles(as_json: bool) -> None:
    from avadm.site import profile

    loaded = [profile.load(name) for name in profile.names()]
    if as_json:
        print_json([p.model_dump(mode="json") for p in loaded])
        return
    columns = {"ceph": "ceph", "Kubernetes": "kube-apiserver", "docker": "docker", "GPU driver": "gpu_driver"}
    for p in loaded:
        heading(p.name)
        kernel = f", kernel {p.os['kernel']}" if p.os.get("kernel") else ""
        rows = {"for": "the lab" if p.name.startswith("lab-") else "sites", "system": f"{p.system}{kernel}"}
        rows |= {title: p.versions.get(name, "").rstrip(".") for title, name in columns.items()}
        for title, value in rows.items():
            console.print(f"  {title:<12}{value or 'none'}", markup=False, highlight=False)
    console.print(
        "\nAll versions and packages: --json. What was run of each: docs/reference/support-matrix.md.",
        markup=False,
    )


site.add_command(init)
