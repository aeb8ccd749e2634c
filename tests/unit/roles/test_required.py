"""An option that a role requires has no default, or its absence would never be noticed; what is a default, the role takes."""

from pathlib import Path

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

ROLES = sorted(
    path.parents[1] for path in (Path(__file__).parents[3] / "roles").glob("*/meta/argument_specs.yml")
)


@pytest.mark.parametrize("role", ROLES, ids=lambda path: path.name)
def test_what_is_required_has_no_empty_default(role):
    specs = yaml.safe_load((role / "meta/argument_specs.yml").read_text())["argument_specs"].values()
    required = {name for spec in specs for name, option in spec["options"].items() if option.get("required")}
    defaults = yaml.safe_load((role / "defaults/main.yml").read_text()) or {}
    assert [name for name in sorted(required) if defaults.get(name, "none") in ("", [], {})] == []


@pytest.mark.parametrize("role", ROLES, ids=lambda path: path.name)
def test_each_default_is_taken(role):
    specs = yaml.safe_load((role / "meta/argument_specs.yml").read_text())["argument_specs"].values()
    options = {name: option for spec in specs for name, option in spec["options"].items()}
    defaults = yaml.safe_load((role / "defaults/main.yml").read_text()) or {}
    # What refers to other variables is not known here.
    plain = {name: value for name, value in defaults.items() if name in options and "{{" not in repr(value)}
    validator = ArgumentSpecValidator({name: options[name] for name in plain})
    assert validator.validate(plain).error_messages == []
