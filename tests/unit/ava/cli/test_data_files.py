"""`ava data put`, `get`, `ls` and `rm`: names byte for byte, pipes as pipes, any terminal."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from ava.cli import main, output
from ava.cli.app import App
from ava.client.data_sets import decoded_path, encoded_path
from ava.files import paths
from ava.schemas.data_sets import DataSetOut, FileOut

NAMES = [
    b"100%20off.txt",
    b"a%2Fb",
    b"%41%00",
    b"plain",
    b"with space and + & ?",
    "Screenshot at 3.45\N{NARROW NO-BREAK SPACE}PM.png".encode(),
    "no\N{NO-BREAK SPACE}break".encode(),
    "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{PERSONAL COMPUTER}.txt".encode(),
    "naïve-日本.csv".encode(),
    "caf\xe9".encode("latin-1"),
    b"-rf",
    b"~",
]


class Fake:
    """The client: it keeps what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.listed: list[bytes] = []

    def data_sets(self) -> list[DataSetOut]:
        made: Any = DataSetOut.model_construct(id="d1ilp5dnq7e1m", name="digits", owner="ann")
        return [made]

    def me(self) -> Any:
        return type("Me", (), {"name": "ann"})

    def begin_upload(self, id: str, path: str, length: int) -> str:
        self.asked.append(path)
        return "/files/uploads/u"

    def upload(self, where: str, file: Path, *, replace: bool) -> None:
        self.content = file.read_bytes()

    def download(self, id: str, path: str, to: BinaryIO) -> int:
        self.asked.append(path)
        return to.write(b"content")

    def delete_file(self, id: str, path: str) -> None:
        self.asked.append(path)

    def files(self, id: str, path: str, *, most: int) -> list[FileOut]:
        self.asked.append(path)
        return [
            FileOut(name=paths.label(n), path=paths.encode([n]), kind="file", size=1, changed=0.0)
            for n in self.listed
        ]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    made = Fake()
    monkeypatch.setattr(App, "client", lambda self: made)
    return made


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_stored_read_and_removed_under_its_own_name(
    fake: Fake, tmp_path: Path, name: bytes
) -> None:
    text = os.fsdecode(name)
    file = tmp_path / text
    file.write_bytes(b"x")
    assert main.run(["data", "put", "digits", str(file)]) == 0
    assert main.run(["data", "put", "digits", str(file), "--", f"folder/{text}"]) == 0
    assert main.run(["data", "get", "digits", "--", text, str(tmp_path / "got")]) == 0
    assert main.run(["data", "rm", "digits", "--", text]) == 0
    assert main.run(["data", "ls", "digits", "--", text]) == 0
    named = [paths.parts(path) for path in fake.asked]
    assert named == [[name], [b"folder", name], [name], [name], [name]]
    assert decoded_path(encoded_path(text)) == text


def test_a_path_can_be_given_percent_encoded(fake: Fake, capfd: pytest.CaptureFixture[str]) -> None:
    fake.listed = [b"line\nbreak", b"100%", b"caf\xe9"]
    assert main.run(["data", "ls", "digits", "--encoded"]) == 0
    shown = [line.split()[-1] for line in capfd.readouterr().out.split("\n")[1:] if line]
    assert shown == ["line%0Abreak", "100%25", "caf%E9"]
    assert main.run(["data", "rm", "digits", shown[0], "--encoded"]) == 0
    assert paths.parts(fake.asked[-1]) == [b"line\nbreak"]
    assert main.run(["data", "ls", "digits"]) == 0
    assert "100%" in [line.split()[-1] for line in capfd.readouterr().out.split("\n")[1:] if line]


def test_a_pipe_is_refused_and_not_waited_for(
    fake: Fake, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    codes: list[int] = []
    trying = threading.Thread(
        target=lambda: codes.append(main.run(["data", "put", "digits", str(pipe)])), daemon=True
    )
    trying.start()
    trying.join(10)
    assert codes == [2]
    assert "Only regular files can be uploaded" in capfd.readouterr().err
    assert fake.asked == []


def test_what_is_no_file_stays_what_it_is(fake: Fake, tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert main.run(["data", "get", "digits", "x", str(pipe)]) == 0
    reader.join(10)
    assert got == [b"content"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert main.run(["data", "get", "digits", "x", str(tmp_path)]) == 2
    assert main.run(["data", "get", "digits", "x", "/dev/null"]) == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


WORDS = "✗ caf\xe9 日本 \udce9 \N{LINE SEPARATOR}"


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8", "cp1252", "koi8-r"])
def test_every_text_is_printed_on_every_terminal(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), encoding))

    def run() -> int:
        output.say(WORDS)
        output.note(WORDS)
        output.table(("NAME",), [(WORDS,)])
        output.print_json({"text": WORDS})
        return 0

    monkeypatch.setattr(main, "run", run)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 0
    written = out.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
    if encoding != "utf-8":
        assert json.loads(written[written.index("{") :]) == {"text": WORDS}
