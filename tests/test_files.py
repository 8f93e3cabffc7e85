"""A file is written whole or not at all."""

import os
import subprocess
from pathlib import Path

import pytest

from benchmark.files import written_whole


def test_it_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    for content in (b"first", b"second"):
        with written_whole(path) as file:
            file.write(content)
        assert path.read_bytes() == content
    assert os.listdir(path.parent) == ["file"]


@pytest.mark.parametrize("old", [b"old", None])
def test_what_is_interrupted_leaves_the_older_one(tmp_path: Path, old: bytes | None) -> None:
    path = tmp_path / "file"
    if old is not None:
        path.write_bytes(old)
    with pytest.raises(KeyboardInterrupt), written_whole(path) as file:  # noqa: PT012
        file.write(b"half")
        file.flush()
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == ([] if old is None else ["file"])
    if old is not None:
        assert path.read_bytes() == old


def test_remains_of_a_killed_writer_are_removed_and_others_are_not(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    names = {f".a.json.{ended.pid}": False, f".a.json.{os.getppid()}": True, ".a.json.txt": True, ".b.json.1": True}
    for name in names:
        (tmp_path / name).touch()
    with written_whole(tmp_path / "a.json") as file:
        file.write(b"x")
    assert {name: (tmp_path / name).exists() for name in names} == names
