"""What a role says: its files, tasks and templates as Ansible reads them, and its programs as modules."""

import sys
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
from ansible.template import AnsibleEnvironment, Templar

ROOT = Path(__file__).parents[3]
ROLES = ROOT / "roles"
# Ansible finds its lookups by their whole names then; it takes this once.
loaded = cache(init_plugin_loader)
SYNTAX = (
    *("block_start_string", "block_end_string", "variable_start_string", "variable_end_string"),
    *("comment_start_string", "comment_end_string", "line_statement_prefix", "line_comment_prefix"),
    *("trim_blocks", "lstrip_blocks", "keep_trailing_newline", "newline_sequence", "finalize"),
)


def compile_once(kind):
    """Have environments of a kind share what they compile: Ansible makes a new one for each template."""
    plain, held = kind.compile, {}

    def compiled(self, source, name=None, filename=None, **more):
        if more or not isinstance(source, str):
            return plain(self, source, name, filename, **more)
        key = (source, name, filename, *(getattr(self, one) for one in SYNTAX))
        if key not in held:
            held[key] = plain(self, source, name, filename)
        return held[key]

    kind.compile = compiled


compile_once(AnsibleEnvironment)


def read(role, path):
    """Return what a file of YAML of a role holds."""
    return yaml.load((ROLES / role / path).read_text(), Loader=yaml.CSafeLoader) or {}


def variables(role, *kinds):
    """Return a role's own variables: its defaults, and what lies in vars."""
    paths = [f"{kind}/main.yml" for kind in kinds or ("defaults", "vars")]
    return {k: v for path in paths if (ROLES / role / path).is_file() for k, v in read(role, path).items()}


NOTHING = {"str": "given", "path": "/given", "int": 1, "float": 1.0, "bool": True, "list": [], "dict": {}}


def given(role):
    """Return a role's variables; whatever must be given is given."""
    options = read(role, "meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    return {name: NOTHING[option["type"]] for name, option in options.items()} | variables(role)


def tasks(role, step, word):
    """Return the tasks of a role's step (the file's name) in which a word stands."""
    return [one for one in read(role, f"tasks/{step}.yml") if word in str(one)]


def service(role, name=None):
    """Return what a role gives avadm_service for a unit, not yet rendered; without a name, for its first files without one."""
    steps = (read(role, f"tasks/{path.name}") for path in sorted((ROLES / role / "tasks").glob("*.yml")))
    given = [one["avadm_service"] for step in steps for one in step if "avadm_service" in one]
    return next(one for one in given if one.get("name") == name)


def written(files, /, **have):
    """Return path to file of a list of files as avadm_service takes it, rendered; templates are named only."""
    loaded()
    action = program("../plugins/action/avadm_service.py", "avadm_service_action")
    return {one["path"]: one for entry in action.flat(value(files, **have)) for one in action.each(entry)}


def value(text, /, **have):
    """Return what Ansible makes of a text with these variables."""
    return Templar(DataLoader(), variables=have).template(text)


def holds(condition, /, **have):
    """Tell whether a `when`, `until` or the like holds."""
    return value("{{ " + condition + " }}", **have)


def template(path, /, **have):
    """Return what becomes of a template, by its path below roles/."""
    templar = Templar(DataLoader(), variables={"ansible_managed": "written by a test", **have})
    templar.environment.loader.searchpath = [str((ROLES / path).parent)]
    # As the module and the lookup of templates do.
    templar.environment.trim_blocks = True
    text = (ROLES / path).read_text()
    return templar.template(text, convert_data=False, preserve_trailing_newlines=True)


def program(path, name=""):
    """Return a program as a module, by its path below roles/; as on a node it finds what lies beside it."""
    path = ROLES / path
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    loader = SourceFileLoader(name or path.stem.replace("-", "_"), str(path))
    made = module_from_spec(spec_from_loader(loader.name, loader))
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(made)
    sys.dont_write_bytecode = before
    return made
