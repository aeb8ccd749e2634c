"""What the roles of GPUs hand to avadm's device plug-in."""

import re
import shlex

import pytest

from avadm.artifacts.manifest import named
from tests.unit.fakes.roles import ROLES, template, variables


@pytest.fixture(scope="module")
def command():
    """The plug-in's command line, as the unit has it."""
    unit = "gpu_device_plugin/templates/avadm-gpu-device-plugin.service.j2"
    text = template(unit, **variables("gpu_device_plugin")).replace("\\\n", " ")
    return shlex.split(re.search(r"^ExecStart=(.*)$", text, re.M)[1])


def test_the_program_knows_every_option_that_the_unit_gives_it(command):
    (artifact,) = named(("gpu-device-plugin",))
    main = (artifact.folder / "main.go").read_text()
    known = set(re.findall(r'flags\.\w+\((?:&[\w.]+, )?"([\w-]+)"', main))
    given = {argument.removeprefix("--").partition("=")[0] for argument in command[1:]}
    assert given <= known
    assert known - given == {"folder", "resource", "dev", "every"}


def test_containers_find_the_driver_as_in_nvidias_own_images(command):
    assert "--env=LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64" in command


def test_the_driver_is_laid_out_where_the_plug_in_looks_for_it(command):
    root = variables("gpu_driver")["gpu_driver_root"]
    assert f"--driver-root={root}" in command
    assert "nvidia-smi" in variables("gpu_driver")["gpu_driver_needed"]


def test_a_gpu_is_taken_away_for_the_errors_that_the_alert_calls_the_hardwares(command):
    rules = (ROLES / "prometheus/files/rules/kubernetes.yml").read_text()
    reply = re.search(r"XIDs\. ([\d, and]+) are the\s+hardware's", rules)[1]
    numbers = ",".join(re.findall(r"\d+", reply))
    assert f"--xids={numbers}" in command
