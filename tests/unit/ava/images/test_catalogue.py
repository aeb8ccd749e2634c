"""The catalogue of images, its recipes, and what avadm builds of it are the same things."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

import ava.images
from ava.images.catalogue import Offered, completed, known
from avadm.artifacts.manifest import manifest
from avadm.artifacts.wheels import differences, pins
from avadm.components.ava.component import IMAGES

FOLDER = Path(ava.images.__file__).parent


def test_what_avadm_builds_is_what_the_catalogue_has_recipes_for() -> None:
    assert set(IMAGES) == {name for name, row in known().items() if row.recipe}
    for name, row in known().items():
        assert manifest()[name].folder.resolve() == (FOLDER / row.recipe).resolve()


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_can_be_workbench_and_training(name: str) -> None:
    assert {"workbench", "training"} <= set(known()[name].uses)


def test_versions_are_those_of_the_recipes() -> None:
    for recipe, package in (
        ("tensorflow", "tensorflow-cpu"),
        ("tensorflow-cuda", "tensorflow[and-cuda]"),
        ("pytorch-cuda", "torch"),
    ):
        asked = (FOLDER / recipe / "pyproject.toml").read_text()
        assert f'"{package}=={known()[f"ava-{recipe}"].version}"' in asked
    assert manifest()["ava-base"].version == known()["ava-base"].version


CUDA = [name for name, row in known().items() if row.cuda]


def test_there_is_a_cuda_image_of_each_framework() -> None:
    assert {known()[name].framework for name in CUDA} == {"pytorch", "tensorflow"}
    assert all(row.cuda or "CPU" in row.title or row.framework == "none" for row in known().values())


@pytest.mark.parametrize("name", CUDA)
def test_a_cuda_image_has_nvidias_libraries_pinned_and_leaves_the_driver_to_the_node(name: str) -> None:
    folder = FOLDER / known()[name].recipe
    listed = pins(folder / "requirements.txt")
    libraries = {package for package in listed if package.startswith("nvidia-")}
    assert {
        "nvidia-cublas-cu12",
        "nvidia-cuda-runtime-cu12",
        "nvidia-cudnn-cu12",
        "nvidia-nccl-cu12",
    } <= libraries
    # CUDA 12 alone: libraries of CUDA 13 want a driver from 580 on, and the profile debian-12 has 535.
    assert [p for p in libraries if not p.endswith("-cu12")] == []
    major, minor = (int(n) for n in listed["nvidia-cuda-runtime-cu12"].split(".")[:2])
    assert known()[name].cuda == f"{major}.{minor}"
    lines = (folder / "requirements.txt").read_text().splitlines()
    assert all(" --hash=sha256:" in line for line in lines if not line.startswith("#"))
    assert differences(folder / "requirements.txt", folder / "pyproject.toml") == []
    # Device plug-in and images must agree on who says where the driver's libraries are.
    [image] = [
        step["image"]
        for step in yaml.safe_load((folder / "recipe.yml").read_text())["steps"]
        if "image" in step
    ]
    assert "LD_LIBRARY_PATH" not in image["env"]


@pytest.mark.parametrize("name", [*CUDA, "ava-tensorflow"])
def test_an_images_packages_are_found_where_its_recipe_puts_them(name: str) -> None:
    folder = FOLDER / known()[name].recipe
    steps = yaml.safe_load((folder / "recipe.yml").read_text())["steps"]
    [wheels] = [step["wheels"] for step in steps if "wheels" in step]
    [path] = folder.glob("files/usr/local/lib/python3.11/dist-packages/*.pth")
    assert f'"{wheels["to"].removeprefix("root")}"' in path.read_text()
    assert wheels["project"] == f"ava/images/{folder.name}/pyproject.toml"


def test_jupyterlab_asks_no_one_about_news_unless_a_user_says_so() -> None:
    """Defaults (overrides.d of its settings, JupyterLab 4): what a user sets in the home goes before them."""
    settings = FOLDER / "base/files/usr/local/share/jupyter/lab/settings/overrides.d/ava.json"
    assert json.loads(settings.read_text()) == {
        "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}
    }
    for recipe in ("base", "pytorch"):
        text = (FOLDER / recipe / "recipe.yml").read_text()
        assert re.search(r"overlay: \{source: (files|\S*base/files), to: root\}", text)


@pytest.mark.parametrize("recipe", ["base", "pytorch"])
def test_no_image_has_a_host_key_that_all_its_containers_would_share(recipe: str) -> None:
    steps = yaml.safe_load((FOLDER / recipe / "recipe.yml").read_text())["steps"]
    [debian] = [s["debian"] for s in steps if "debian" in s]
    assert "openssh-server" in debian["packages"]
    assert any(re.match(r"rm -f /etc/ssh/ssh_host_\*", c) for c in debian["commands"])


def test_a_site_s_row_takes_the_rest_from_the_catalogue_and_a_row_of_its_own_needs_none() -> None:
    rows = completed(
        {"ava-base": {"image": "r:5000/x:1"}, "torch": {"image": "r:5000/t@sha256:1", "cuda": "9.2"}}
    )
    found = {name: Offered.model_validate(row) for name, row in rows.items()}
    assert found["ava-base"].python == "3.11"
    assert (found["torch"].cuda, found["torch"].size) == ("9.2", 0)


@pytest.mark.parametrize(
    "row", [{}, {"image": ""}, {"image": "x", "sise": 1}, {"image": "x", "uses": ["game"]}]
)
def test_a_wrong_row_is_refused(row: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Offered.model_validate(completed({"mine": row})["mine"])
