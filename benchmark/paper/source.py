"""Where the paper's data come from: a git repository near or far, or a folder of files; content is proved by its hash.

Files are asked for by the name that git gives to their content (the hash of a blob), so a repository serves whatever
its newest commit is, and a folder only where each file is the very one of the paper.
"""

import hashlib
import io
import os
import subprocess
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Protocol

from benchmark.dataset import DatasetError

REPOSITORY = "https://github.com/slachapelle/dcdi"
COMMIT = "0c0a7b8e3687fd04058b8696b6bf2839c7e80aed"  # June 2020, the data of the published tables; MIT licence
DOWNLOAD_MB = 553  # compressed blobs of that commit's data sets


class Source(Protocol):
    """Something that has the files of the paper's data."""

    def read(self, folder: str, name: str, blob: str) -> bytes:
        """Return a file by its folder and name in the authors' layout and by the hash of its content."""

    def regimes(self, folder: str, number: int) -> bytes | None:
        """Return the file that numbers the setting of each row, which the authors' later layout has."""


class SourceError(DatasetError):
    """A source that lacks a file of the paper's data, or has another one in its place."""


def blob_hash(content: bytes) -> str:
    """Return the name that git gives to a content.

    >>> blob_hash(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@contextmanager
def open_source(place: str, blobs: list[str], commit: str = COMMIT) -> Iterator[Source]:
    """Open a folder, a git directory or work tree, or a git URL; a URL's blobs are downloaded first."""
    path = Path(place).expanduser()
    if not path.exists():
        if "://" not in place and not place.startswith("git@"):
            raise SourceError(f"SOURCE={place}: there is no such folder, and it is not a git URL either")
        with tempfile.TemporaryDirectory(prefix="published-data-") as scratch:
            _download(place, Path(scratch), blobs, commit)
            with GitSource(Path(scratch), place) as source:
                yield source
    elif _has_object(path, blobs[0]):
        with GitSource(path, place) as source:
            yield source
    elif _is_git(path) and not _holds_layout(path):
        raise SourceError(
            f"SOURCE={place}: this repository lacks commit {commit} with the data; fetch it with its history"
        )
    else:
        yield FolderSource(path)


class GitSource:
    """Blobs of a git repository on this machine."""

    def __init__(self, repository: Path, place: str) -> None:
        self.repository, self.place = repository, place

    def __enter__(self) -> "GitSource":
        command = ["git", "-C", str(self.repository), "cat-file", "--batch"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment())
        return self

    def __exit__(self, *exception: object) -> None:
        self.process.communicate()

    def read(self, folder: str, name: str, blob: str) -> bytes:
        """Return a blob; git is not trusted to have checked what lies on a disk."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{blob}\n".encode())
        self.process.stdin.flush()
        header = self.process.stdout.readline().split()
        if len(header) != 3 or header[1] != b"blob":
            raise SourceError(f"SOURCE={self.place}: the repository lacks {folder}/{name} (blob {blob})")
        content = self.process.stdout.read(int(header[2]))
        self.process.stdout.read(1)
        return checked(content, blob, f"SOURCE={self.place}: {folder}/{name}")

    def regimes(self, folder: str, number: int) -> bytes | None:
        """Return nothing: the commit of the paper's data has no such file."""
        return None


class FolderSource:
    """Files in the authors' layout of 2020, a folder per condition, or in the later one, a zip file per condition."""

    def __init__(self, folder: Path) -> None:
        self.folder = next((place for place in (folder / "data", folder) if _holds_layout(place)), folder)
        if not _holds_layout(self.folder):
            raise SourceError(
                f"SOURCE={folder}: neither the folders data_perfect_interv and data_imperfect_interv nor the zip files "
                "of perfect and imperfect are there"
            )
        self._archives: dict[Path, zipfile.ZipFile] = {}

    def read(self, folder: str, name: str, blob: str) -> bytes:
        """Return a file, unpacked or out of its zip file."""
        content = self._content(folder, name)
        if content is None:
            raise SourceError(f"{self.folder}: {folder}/{name} is missing, also from {self._archive_path(folder)}")
        return checked(content, blob, f"{self.folder}: {folder}/{name}")

    def regimes(self, folder: str, number: int) -> bytes | None:
        """Return the file where it is there."""
        return self._content(folder, f"regime{number}.csv")

    def _content(self, folder: str, name: str) -> bytes | None:
        path, archive = self.folder / folder / name, self._archive_path(folder)
        try:
            if path.exists():
                return path.read_bytes()
            return self._unzipped(archive, name) if archive.exists() else None
        except (OSError, zipfile.BadZipFile, zlib.error) as error:
            raise SourceError(f"{path if path.exists() else archive}: it cannot be read ({error})") from None

    def _archive_path(self, folder: str) -> Path:
        kind = PurePosixPath(folder).parts[0].removeprefix("data_").removesuffix("_interv")
        return self.folder / kind / f"{PurePosixPath(folder).name}_{kind}.zip"

    def _unzipped(self, path: Path, name: str) -> bytes | None:
        if path not in self._archives:
            self._archives = {path: zipfile.ZipFile(io.BytesIO(path.read_bytes()))}
        archive = self._archives[path]
        found = [member for member in archive.namelist() if PurePosixPath(member).name == name]
        return archive.read(found[0]) if found else None


def checked(content: bytes, blob: str, place: str) -> bytes:
    """Return a content that has the hash it should have."""
    if blob_hash(content) != blob:
        raise SourceError(
            f"{place}: its content is not the paper's (hash {blob_hash(content)[:12]}, expected {blob[:12]}): "
            "truncated, changed, or of another commit"
        )
    return content


def _download(url: str, scratch: Path, blobs: list[str], commit: str) -> None:
    """Fetch the commit without its files, then the files of the data sets; a server that cannot do so sends all."""
    print(f"Downloading {len(blobs):,} files, about {DOWNLOAD_MB} MB for all of the paper's, from {url}", flush=True)
    _git(scratch, url, "init", "--quiet", "--bare")
    _git(scratch, url, "remote", "add", "origin", url)
    quiet = ("fetch", "--quiet", "--no-tags", "--filter=blob:none")
    _git(scratch, url, *quiet, "--depth=1", "origin", commit)
    objects = _git(scratch, url, "rev-list", "--objects", "--missing=print", commit).split()
    missing = set(blobs) & {name.removeprefix("?") for name in objects if name.startswith("?")}
    if missing:
        wanted = "\n".join(sorted(missing)) + "\n"
        _git(scratch, url, *quiet, "--no-write-fetch-head", "--stdin", "origin", stdin=wanted)


def _git(repository: Path, url: str, *arguments: str, stdin: str = "") -> str:
    command = ["git", "-C", str(repository), "-c", "fetch.negotiationAlgorithm=noop", *arguments]
    try:
        done = subprocess.run(command, input=stdin, check=True, capture_output=True, text=True, env=_environment())
    except FileNotFoundError:
        raise SourceError("git is not on the PATH; the paper's data are fetched with it") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip().splitlines()
        raise SourceError(f"{url}: git {arguments[0]} failed ({said[-1] if said else error})") from None
    return done.stdout


def _has_object(repository: Path, blob: str) -> bool:
    command = ["git", "-C", str(repository), "cat-file", "-e", blob]
    return subprocess.run(command, capture_output=True, env=_environment()).returncode == 0


def _is_git(path: Path) -> bool:
    command = ["git", "-C", str(path), "rev-parse", "--git-dir"]
    done = subprocess.run(command, capture_output=True, text=True, env=_environment())
    # A folder inside some other repository is not one itself.
    return done.returncode == 0 and done.stdout.strip() in (".", ".git")


def _holds_layout(folder: Path) -> bool:
    names = ("data_perfect_interv", "data_imperfect_interv", "perfect", "imperfect")
    return any((place / name).is_dir() for place in (folder, folder / "data") for name in names)


def _environment() -> dict[str, str]:
    return os.environ | {"GIT_TERMINAL_PROMPT": "0"}
