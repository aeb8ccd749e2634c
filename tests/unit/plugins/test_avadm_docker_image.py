"""An image from an archive: loaded where docker has another one or none, left alone else."""

import io
import json
import tarfile

import avadm_docker_image as module
import pytest

ID = "sha256:" + "a" * 64


@pytest.fixture(params=["{0}.json", "blobs/sha256/{0}"], ids=["old layout", "new layout"])
def archive(tmp_path, request):
    path = tmp_path / "image.tar"
    listed = [{"Config": request.param.format("a" * 64), "RepoTags": ["avadm/pause:1"], "Layers": []}]
    body = json.dumps(listed).encode()
    with tarfile.open(path, "w") as tar:
        info = tarfile.TarInfo("manifest.json")
        info.size = len(body)
        tar.addfile(info, io.BytesIO(body))
    return str(path)


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


def test_what_is_there_is_not_loaded(archive):
    run = docker(ID)
    assert module.ensure(run, "avadm/pause:1", archive, False) == (False, ID)
    assert run.verbs == ["image"]


@pytest.mark.parametrize("have", ["", "sha256:" + "b" * 64], ids=["none", "another under the name"])
def test_what_is_not_there_is_loaded(archive, have):
    run = docker(have)
    assert module.ensure(run, "avadm/pause:1", archive, False) == (True, ID)
    assert run.verbs == ["image", "load"]


def test_check_mode_loads_nothing(archive):
    run = docker("")
    assert module.ensure(run, "avadm/pause:1", archive, True) == (True, ID)
    assert run.verbs == ["image"]


def test_trouble_is_told_with_a_remedy(archive, tmp_path):
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
        ("sha256:" + "b" * 64, True, ["container", "rm", "create"]),
    ],
    ids=["held", "by none", "another image"],
)
def test_a_container_of_it_holds_the_image(held, changed, verbs):
    run = docker(ID, holds=held)
    assert module.hold(run, "avadm/pause:1", ID, "avadm-pause", False) is changed
    assert run.verbs == verbs


def test_check_mode_makes_no_container_and_trouble_with_it_is_told():
    run = docker(ID)
    assert module.hold(run, "avadm/pause:1", ID, "avadm-pause", True) is True
    assert run.verbs == ["container"]
    with pytest.raises(module.ImageError, match=r"avadm-pause.*no space left"):
        module.hold(docker(ID, loads=1), "avadm/pause:1", ID, "avadm-pause", False)
