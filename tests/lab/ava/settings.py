"""Settings of the platform as a site changes them: site file, vault, `avadm apply ava`; put back at the end, whatever happens."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from ruamel.yaml import YAML

from avadm.site.load import load
from tests.lab.faults.drive import avadm

KEPT = ".kept-by-a-test"
VAULT = Path(sys.executable).parent / "ansible-vault"
# What stands for the administrator at `ansible-vault edit`: the first file's lines go to the end of the second.
_EDITOR = "import sys; open(sys.argv[2], 'a').write(open(sys.argv[1]).read())"


def here(lab):
    """Return this machine's address as the lab's nodes and pods reach it."""
    return str(load(lab.site_path).site.components.ava.git[0].networks[0].network_address)


class Settings:
    """The site file of the lab and its vault.

    Args:
        lab: the lab.
    """

    def __init__(self, lab):
        self.site = Path(lab.site_path)
        self.vault = self.site.with_suffix(".vault.yml")
        self._pass = ("--vault-password-file", str(self.site.with_suffix(".vault-pass")))

    def write(self, **knobs):
        """Set knobs of components.ava."""
        file = YAML()
        data = file.load(self.site)
        data["components"]["ava"].update(knobs)
        file.dump(data, self.site)

    def edit(self, **secrets):
        """Put variables into the vault, by `ansible-vault edit` as the documentation has it."""
        with TemporaryDirectory(dir="/dev/shm") as folder:
            lines = Path(folder) / "lines"
            lines.touch(mode=0o600)
            lines.write_text(yaml.safe_dump(secrets))
            program = Path(folder) / "editor.py"
            program.write_text(_EDITOR)
            env = {**os.environ, "EDITOR": f"{sys.executable} {program} {lines}"}
            argv = [VAULT, "edit", *self._pass, self.vault]
            subprocess.run(argv, env=env, check=True, capture_output=True, timeout=60)

    def secret(self, name):
        """Return a variable of the vault."""
        shown = subprocess.run(
            [VAULT, "view", *self._pass, self.vault], check=True, capture_output=True, text=True, timeout=60
        )
        return yaml.safe_load(shown.stdout)[name]

    def keep(self):
        """Keep both files beside themselves; what a killed test left so is put back before."""
        self.put_back()
        for file in (self.vault, self.site):
            shutil.copy2(file, f"{file}{KEPT}")

    def put_back(self):
        """Have both files be what they were; nothing where none is kept."""
        for file in (self.site, self.vault):
            kept = Path(f"{file}{KEPT}")
            if kept.exists():
                kept.replace(file)


def applied():
    """Apply what the site file says of the platform."""
    done = avadm("apply", "ava")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@contextmanager
def changed(lab, secrets=None, **knobs):
    """Have the platform run with these knobs of components.ava and these variables of the vault; yield the settings."""
    settings = Settings(lab)
    settings.keep()
    try:
        settings.write(**knobs)
        if secrets:
            settings.edit(**secrets)
        applied()
        yield settings
    finally:
        settings.put_back()
        applied()
