"""Programs, modules and plays, run on this machine as on a node; and programs that stand in for others."""

import json
import os
import subprocess
import sys
from pathlib import Path

from ansible import module_utils

ROOT = Path(__file__).parents[3]
PLUGINS = ROOT / "plugins"
NEAR = f"import ansible.module_utils as u, runpy; u.__path__.append({str(PLUGINS / 'module_utils')!r}); "


# Tests import our Ansible modules and module utilities as Ansible does on a node.
sys.path.insert(0, str(PLUGINS / "modules"))
module_utils.__path__.append(str(PLUGINS / "module_utils"))


def sh(*argv, env=(), **more):
    """Run a program to its end, with these variables besides its usual environment."""
    given = {"capture_output": True, "text": True, "check": False, "env": os.environ | dict(env), **more}
    return subprocess.run(argv, **given)


def run_command(argv, data=None):
    """Run a program as AnsibleModule.run_command does."""
    done = sh(*argv, input=data)
    return done.returncode, done.stdout, done.stderr


def stub(path, script=""):
    """Make a program of a script of sh; return its folder at the head of PATH, as an environment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return {"PATH": f"{path.parent}:{os.environ['PATH']}"}


def module(name, env=(), /, **given):
    """Run a module as a program; return what it answers and all that it wrote."""
    code = f"{NEAR}runpy.run_path({str(PLUGINS / f'modules/{name}.py')!r}, run_name='__main__')"
    done = sh(sys.executable, "-c", code, input=json.dumps({"ANSIBLE_MODULE_ARGS": given}), env=env)
    return json.loads(done.stdout or "{}"), done.stdout + done.stderr


def play(folder, *tasks, env=(), words=(), **variables):
    """Have the real ansible-playbook do tasks on this machine; return what came of it."""
    host = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (folder / "hosts.yml").write_text(json.dumps({"all": {"hosts": {"localhost": host}}}))
    plays = [{"hosts": "localhost", "gather_facts": False, "vars": variables, "tasks": tasks}]
    (folder / "play.yml").write_text(json.dumps(plays))
    program = Path(sys.executable).with_name("ansible-playbook")
    return sh(program, "-i", folder / "hosts.yml", *words, folder / "play.yml", cwd=ROOT, env=env)
