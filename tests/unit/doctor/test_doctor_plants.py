"""The table of planted troubles: each names a check that is there, each known incident has one, each can be taken away."""

import subprocess

import pytest

from avadm.doctor.checks import CHECKS
from tests.controls.doctor_faults import PLANTS


def test_every_known_incident_is_planted():
    assert {p.requirement for p in PLANTS} - {""} == {f"K{i}" for i in range(1, 13)}


@pytest.mark.parametrize("plant", PLANTS, ids=lambda p: p.name)
def test_a_plant_is_whole(plant):
    (check,) = [c for c in CHECKS if c.id == plant.check]
    assert (
        not plant.requirement or plant.requirement in check.requirement.split(", ") or plant.check == "units"
    )
    for script in (text for act in plant.acts for text in (act.do, act.undo)):
        assert script
        # As planting.py writes it into a script.
        done = subprocess.run(
            ["bash", "-n", "-c", f"{{ {script}\n}}"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_names_are_different():
    assert len({p.name for p in PLANTS}) == len(PLANTS)
