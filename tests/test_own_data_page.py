"""docs/your-own-data.md, followed to the letter: a table made with pandas alone becomes a picture and an edge list."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import networkx
import pandas as pd
import pytest

from benchmark.dataset import DatasetError
from benchmark.frames import load_table
from tests.project import ROOT, Project

PAGE = (ROOT / "docs" / "your-own-data.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, flags=re.DOTALL))
COMMANDS = re.findall(r"```sh\n(.*?)\n```", PAGE, flags=re.DOTALL)
(IN_PYTHON,) = re.findall(r"## From Python\n\n```python\n(.*?)```", PAGE, flags=re.DOTALL)
(MESSAGES,) = re.findall(r"```\n(my-genes.csv: .*?)```", PAGE, flags=re.DOTALL)
TRUE_EDGES = {("MYC", "E2F1"), ("TP53", "MDM2"), ("TP53", "BAX"), ("TP53", "CDKN1A"), ("E2F1", "CCNE1")}


def follow(command: str, project: Project) -> str:
    """Run a command of the page in the project's folder, its environment activated."""
    words = shlex.split(command)
    if words[0] == "make":
        words += ["CORES=2", "-o", ".venv/.runtime"]  # the environment is there
    environment = project.environment()
    environment["PATH"] = f"{Path(sys.prefix, 'bin')}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(words, cwd=project.folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check_graphs(folder: Path, row: str) -> None:
    """The edge list has what the table was made with, and the drawing is one."""
    edges = pd.read_csv(folder / f"{row}.csv")
    assert set(zip(edges["from"], edges["to"], strict=True)) >= TRUE_EDGES
    assert networkx.read_graphml(folder / f"{row}.graphml").number_of_edges() == len(edges)
    assert (folder / f"{row}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_both_ways_lead_to_a_picture_and_an_edge_list(project: Project) -> None:
    for name, content in FILES.items():
        project.write(name, content)
    (project.folder / "Makefile").write_text((ROOT / "Makefile").read_text(encoding="utf-8"), encoding="utf-8")
    (project.folder / ".venv").symlink_to(sys.prefix)
    follow("python make_genes.py", project)
    assert "Run `python make_genes.py`".lower() in PAGE.lower()
    one_command, workflow = COMMANDS
    printed = follow(one_command, project)
    assert re.search(r"^ +TP53 -> MDM2 +[01]\.\d\d$", printed, flags=re.MULTILINE)
    check_graphs(project.folder / "my-genes-graphs", "dcdi-g")

    assert "results/genes/report.html" in follow(workflow, project)
    assert (project.folder / "results" / "genes" / "report.html").exists()
    graphs = project.folder / "results" / "genes" / "graphs" / "genes" / "file-my-genes" / "00"
    assert str(graphs.relative_to(project.folder)) in PAGE
    for row in ("gies", "igsp-gauss", "dcdi-g"):
        check_graphs(graphs, row)
    agreed = pd.read_csv(graphs / "consensus.csv")
    assert set(agreed["of"]) == {3}
    assert set(zip(*agreed[agreed["methods"] == 3][["from", "to"]].to_numpy().T, strict=True)) >= TRUE_EDGES


def test_the_python_and_the_messages_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(FILES["make_genes.py"], {})
    table = pd.read_csv("my-genes.csv")
    assert table.shape == (4000, 9)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(IN_PYTHON, {})
    assert "TP53 -> MDM2" in output.getvalue()
    assert Path("gies.png").stat().st_size > 1000

    missing, misspelt = MESSAGES.splitlines()
    how = {"setting": "condition", "control": "control"}
    table.loc[15, "TP53"] = None
    table.to_csv("my-genes.csv", index=False)
    for changes, message in (({}, missing), ({"control": "controll"}, misspelt)):
        with pytest.raises(DatasetError) as refused:
            load_table("my-genes.csv", **how | changes)
        assert str(refused.value) == message


def test_the_page_names_every_key_and_option() -> None:
    from benchmark.fit import _parser
    from benchmark.own_data import TABLE_KEYS

    listed = re.findall(r"^\| `(\w+)` \| `(--\w+)", PAGE, flags=re.MULTILINE)
    assert {key for key, _ in listed} == set(TABLE_KEYS)
    options = _parser()._option_string_actions
    assert {option for _, option in listed} <= set(options)
