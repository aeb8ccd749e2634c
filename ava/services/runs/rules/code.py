"""Where a run's code comes from, and which variables it gets."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from ava.domain.mpi import ENVIRONMENT
from ava.domain.phrases import Phrase
from ava.domain.problems import Problem
from ava.domain.spec import Distributed, Git, Spec
from ava.services.runs.rules.site import Site, some

RESERVED = re.compile(
    r"^(AVA_.*|TF_CONFIG|NVIDIA_.*|CUDA_VISIBLE_DEVICES|LD_PRELOAD|KUBERNETES_.*|OMPI_MCA_plm_.*)$"
)
"""Variables that the platform sets, or that would undo what it promises to others."""
_HOST = re.compile(r"^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$")
_USER = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9._-]*$")


def variables(spec: Spec, at: str) -> list[Problem]:
    """Return which variables may not be set: whatever is not listed here reaches the pods as it was written."""
    mpi = ENVIRONMENT if spec.distributed is Distributed.MPI else {}
    return [
        Problem(
            "variable-reserved",
            Phrase("The platform sets {name} itself.", name=name),
            f"{at}.env.{name}",
            name,
            Phrase("another name"),
            Phrase("Leave it out."),
        )
        for name in spec.env
        if RESERVED.match(name) or name in mpi
    ]


def git(git: Git, site: Site, at: str) -> list[Problem]:
    """Return what is wrong with the place of the code."""
    found = []
    if not site.git:
        found.append(
            Problem(
                "git-none",
                Phrase("This site lets no run fetch code."),
                at,
                Phrase("an object"),
                Phrase("nothing"),
                Phrase(
                    "Put the code into the image, or ask an administrator for the way to your git server."
                ),
            )
        )
    user: str | None
    secret: str | None
    if git.url.startswith("git@"):
        host, _, path = git.url.removeprefix("git@").partition(":")
        user, secret = "git", None
    else:
        try:
            parts = urlsplit(git.url)
            host, path, user, secret = parts.hostname or "", parts.path, parts.username, parts.password
        except ValueError:
            host, path, user, secret = "", "", None, None
    # git and ssh would take a host or a path that begins with "-" for an option.
    if not _HOST.match(host) or not path.strip("/") or path.startswith("-") or not git.url.isprintable():
        found.append(
            Problem(
                "git-url",
                Phrase("This is no git URL."),
                f"{at}.url",
                Phrase("as sent") if secret else git.url[:100],
                Phrase("https://HOST/PATH, ssh://git@HOST/PATH or git@HOST:PATH"),
                Phrase("Copy it from the site of the repository."),
            )
        )
    if secret is not None or (user is not None and git.url.startswith("https://")):
        found.append(
            Problem(
                "git-secret",
                Phrase("The URL holds a user or a password."),
                f"{at}.url",
                Phrase("a secret (not shown)"),
                Phrase("a URL without"),
                Phrase("Store a deploy key (`ava key`) and name it in git.key."),
            )
        )
    if user is not None and not _USER.match(user) and secret is None:
        found.append(
            Problem(
                "git-url",
                Phrase("The user in the URL is none."),
                f"{at}.url",
                Phrase("as sent"),
                Phrase("a plain name such as git"),
                Phrase("Correct it."),
            )
        )
    if git.key is not None and git.key not in site.deploy_keys:
        found.append(
            Problem(
                "key-unknown",
                Phrase("You have no deploy key of this name."),
                f"{at}.key",
                git.key,
                some(site.deploy_keys),
                Phrase("Store it first: `ava key set deploy NAME FILE`."),
            )
        )
    if git.url.startswith("https://") and git.key is not None:
        found.append(
            Problem(
                "git-key",
                Phrase("A deploy key is for ssh."),
                f"{at}.key",
                git.key,
                Phrase("an ssh URL with it"),
                Phrase("Use the ssh URL, or leave the key out."),
            )
        )
    return found
