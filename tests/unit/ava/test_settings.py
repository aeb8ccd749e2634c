"""A program's settings: all that is wrong is reported with the file's name."""

from pathlib import Path

import pytest

from ava.kube.election import Election
from ava.settings import Address, ConfigError, Strict, load


class Inner(Strict):
    often: int = 1


class Some(Strict):
    listen: Address = ":80"
    inner: Inner = Inner()


def test_an_empty_file_means_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("# nothing\n")
    assert load(tmp_path / "a.yml", Some) == Some()


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (None, ["cannot be read: No such file"]),
        (b"\xff\xfe\x00", ["cannot be read: 'utf-8' codec"]),
        (b"a: [", ["not YAML: while parsing"]),
        (b"- a\n", ["file: "]),
        (b"false\n", ["file: "]),
        (b"listen: nowhere\ninner: {often: x}\ncolour: red\n", ["listen: ", "inner.often: ", "colour: "]),
    ],
)
def test_what_is_wrong_is_reported_with_the_file(
    tmp_path: Path, content: bytes | None, parts: list[str]
) -> None:
    path = tmp_path / "a.yml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(path, Some)
    for part in parts:
        assert f"{path}: {part}" in str(caught.value)


def test_times_of_an_election_that_cannot_be_kept_are_refused() -> None:
    assert Election(name="x").lease().every < Election(name="x").lease().length
    with pytest.raises(ValueError, match="wanted 0 < every < length - margin"):
        Election(name="x", length=6, margin=5, every=2)
