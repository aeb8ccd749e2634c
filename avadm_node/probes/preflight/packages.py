"""Packages that could be installed, asked the way apt would ask."""

from __future__ import absolute_import

import glob
import os
import re

from .system import call


def trusted(keys, folder):
    """A folder with the keys that this node trusts, and the site's: the base phase writes these, not preflight."""
    import base64
    import shutil

    os.mkdir(folder)
    for path in glob.glob("/etc/apt/trusted.gpg.d/*"):
        shutil.copy(path, folder)
    for name, key in keys.items():
        with open("%s/avadm-%s.gpg" % (folder, name), "wb") as out:
            out.write(base64.b64decode(key))
    # apt reads it as its own user.
    os.chmod(os.path.dirname(folder), 0o755)
    return ["-o", "Dir::Etc::TrustedParts=" + folder]


def apt_options(proxy, sources, folder, keys=None):
    """Options for apt: the site's proxy and sources in place of the node's, in a folder of our own."""
    options = ["-o", "Acquire::http::Proxy=" + proxy] if proxy else []
    options += ["-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=15", "-o", "DPkg::Lock::Timeout=60"]
    if keys:
        options += trusted(keys, folder + "/trusted")
    if sources:
        # The node's own lists stay untouched: the base phase writes the sources, not preflight.
        os.mkdir(folder + "/lists")
        with open(folder + "/sources.list", "w") as out:
            out.write("\n".join(sources) + "\n")
        for key, value in (
            ("Etc::SourceList", folder + "/sources.list"),
            ("Etc::SourceParts", "-"),
            ("State::Lists", folder + "/lists"),
        ):
            options += ["-o", "Dir::%s=%s" % (key, value)]
    return options


def packages(names, options):
    """Package name to the version that could be installed, or null; with the trouble of the update."""
    found = candidates(names, options)
    trouble = None
    if not all(found.values()):
        code, _, err = call("apt-get", "-q", "update", *options)
        # A cache that several nodes ask at once for what it has to fetch again may turn one of them away, or hang up.
        if re.search(r" 50[234] |Remote end closed connection", err):
            code, _, err = call("apt-get", "-q", "update", *options)
        trouble = err.strip()[-400:] if code != 0 or "Failed to fetch" in err else None
        found = candidates(names, options)
    return {"candidates": found, "trouble": trouble}


def candidates(names, options):
    """Package name to candidate version or null, by apt-cache."""
    found = dict((name, None) for name in names)
    _, out, _ = call("apt-cache", "policy", *(options + names))
    for name, version in re.findall(r"^(\S+):\n  Installed: .*\n  Candidate: (.*)$", out, re.M):
        if version != "(none)":
            found[name] = version
    return found
