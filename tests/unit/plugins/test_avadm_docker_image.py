"""An image from an archive: loaded where docker has another one or none, left alone else."""

import json

import avadm_docker_image as module
import pytest

from tests.unit.fakes.builders import tar

ID = "sha256:" + "a" * 64


@pytest.fixture(params=["{0}.json", "blobs/sha256/{0}"], ids=["old layout", "new layout"])
def archive(tmp_path, request):
    listed = [{"Config": request.param.format("a" * 64), "RepoTags": ["avadm/pause:1"], "Layers": []}]
    return str(tar(tmp_path / "image.tar", {"manifest.json": json.dumps(listed)}))


def docker(have, loads=0, holds=""):
    def run(argv):
        run.verbs.append(argv[1])
        if argv[1] == "container":
            return (0, holds + "\n", "") if holds else (1, "", "No such container")
        if argv[1] == "image":
            return (0, have + "\n", "") if have else (1, "", "No such image")
        return loads, "", "no space left" if loads else ""

    run.verbs = []
    return run


OTHER = "sha256:" + "b" * 64


@pytest.mark.parametrize(
    ("have", "check", "changed", "verbs"),
    [
        (ID, False, False, ["image"]),
        ("", False, True, ["image", "load"]),
        (OTHER, False, True, ["image", "load"]),
        ("", True, True, ["image"]),
    ],
    ids=["it is there", "none", "another under the name", "a dry run"],
)
def test_what_is_not_there_is_loaded(archive, have, check, changed, verbs):
    run = docker(have)
    assert module.ensure(run, "avadm/pause:1", archive, check) == (changed, ID)
    assert run.verbs == verbs


def test_trouble_is_reported_with_a_remedy(archive, tmp_path):
    with pytest.raises(module.ImageError, match=r"no space left.*/var/lib/docker"):
        module.ensure(docker("", loads=1), "avadm/pause:1", archive, False)
    with pytest.raises(module.ImageError, match="no image avadm/other:1, but avadm/pause:1"):
        module.ensure(docker(""), "avadm/other:1", archive, False)
    (tmp_path / "rubbish").write_text("x")
    with pytest.raises(module.ImageError, match="no archive"):
        module.ensure(docker(""), "avadm/pause:1", str(tmp_path / "rubbish"), False)


@pytest.mark.parametrize(
    ("held", "changed", "verbs"),
    [
        (ID, False, ["container"]),
        ("", True, ["container", "rm", "create"]),
        (OTHER, True, ["container", "rm", "create"]),
    ],
    ids=["held", "by none", "another image"],
)
def test_a_container_of_it_holds_the_image(held, changed, verbs):
    run = docker(ID, holds=held)
    assert module.hold(run, "avadm/pause:1", ID, "avadm-pause", False) is changed
    assert run.verbs == verbs


def test_check_mode_makes_no_container_and_trouble_with_it_is_reported():
    run = docker(ID)
    assert module.hold(run, "avadm/pause:1", ID, "avadm-pause", True) is True
    assert run.verbs == ["container"]
    with pytest.raises(module.ImageError, match=r"avadm-pause.*no space left"):
        module.hold(docker(ID, loads=1), "avadm/pause:1", ID, "avadm-pause", False)
