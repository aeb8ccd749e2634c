"""`avadm kubectl`: kubectl of the site's release, with the administrator's kubeconfig."""

from __future__ import annotations

import os

import click

from avadm.cli.main import App, pass_app
from avadm.errors import AvadmError


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENT]...")
@pass_app
def kubectl(app: App, arguments: tuple[str, ...]) -> None:
    """Run kubectl of the site's Kubernetes with the administrator's rights; all ARGUMENTs are kubectl's.

    The API is reached from this machine; on a site where it is not, use `avadm ssh MASTER kubectl ...`.
    """
    from avadm.artifacts.manifest import named
    from avadm.artifacts.store import ArtifactStore
    from avadm.components.masters.variables import kubeconfig_path
    from avadm.pki.store import KeyStore

    site_file = app.site_file()
    if not site_file.site.with_role("master"):
        raise AvadmError.of(
            "no-kubernetes", where=site_file.where(["nodes"]), found="no node with the role master"
        )
    (artifact,) = named(("kubernetes",), site_file.profile.versions)
    program = ArtifactStore.default().folder(artifact) / "hyperkube"
    config = kubeconfig_path(KeyStore.open(site_file.path))
    for path, remedy in (
        (program, "Build it with `avadm artifacts build kubernetes`."),
        (config, "Install Kubernetes with `avadm apply`, which writes it."),
    ):
        if not path.is_file():
            raise AvadmError.of(
                "no-kubectl", where=str(path), remedy=remedy, name=site_file.site.with_role("master")[0].name
            )
    argv = [str(program), "kubectl", f"--kubeconfig={config}", *arguments]
    # The API's address is the site's own, whatever proxy this shell has for others.
    direct = {**os.environ, "no_proxy": "*", "NO_PROXY": "*"}
    os.execve(argv[0], argv, direct)  # noqa: S606 - replaced by kubectl, which owns the terminal from here
