"""Tables as the paper prints them: its labels, rows, order and names, and that LaTeX sets them without complaint."""

import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from benchmark.paper.pieces import table_pieces
from benchmark.paper.printed import PREAMBLE, caption, printed_values, to_latex, to_markdown, write_printed
from benchmark.paper.published import load_published
from benchmark.paper.reproduction import COLUMNS
from benchmark.plan import Plan
from tests.samples import configuration
from tests.test_reproduction import whole_comparison

LABELS = [label.removeprefix("tab:") for label in load_published()["table"].unique()]
NEURIPS_WIDTH = "5.5in"


def test_every_table_of_the_paper_is_a_piece_of_its_configuration() -> None:
    assert list(table_pieces(Plan(configuration()))) == LABELS
    assert len(LABELS) == 28


def test_a_piece_has_the_conditions_and_rows_of_its_table_alone() -> None:
    pieces = table_pieces(Plan(configuration(convention="released")))
    (linear,) = pieces["perfect_linear"]
    assert [place.name for place in linear.conditions] == [
        f"linear-d{nodes}-e{edges}-perfect" for nodes in (10, 20) for edges in (1, 4)
    ]
    assert [by.name for by in linear.rows] == ["igsp-gauss", "igsp-kci", "gies", "cam", "dcdi-g", "dcdi-dsf"]
    # One test is published here, the one that suits the data.
    for label, row in (("uniform_linear", "igsp-gauss"), ("uniform_nn", "igsp-kci")):
        (uniform,) = pieces[label]
        assert [by.name for by in uniform.rows] == [row, "gies", "cam", "dcd", "dcdi-g"]
    (sachs,) = pieces["sachs"]
    assert [place.name for place in sachs.conditions] == ["sachs"]


def test_a_run_without_a_tables_data_does_not_have_the_table() -> None:
    assert list(table_pieces(Plan(configuration(run=["two_node_perfect"])))) == []
    smaller = configuration(run=["perfect"], experiments={"perfect": {"data": {"n": 500}}})
    assert list(table_pieces(Plan(smaller))) == []


@pytest.mark.parametrize("label", LABELS)
def test_rows_stand_in_the_papers_order_with_both_figures(label: str) -> None:
    values = printed_values(label, whole_comparison())
    published = load_published()[load_published()["table"] == f"tab:{label}"]
    assert list(values["paper_mean"]) == list(published["mean"])
    assert values["ours_mean"].tolist() == pytest.approx(published["mean"].tolist())
    text = to_latex(label, values)
    assert rf"\label{{tab:{label}}}" in text
    rows = [line for line in text.splitlines() if r"\published{" in line and line.endswith(r"\\")]
    assert len(rows) == values["label"].nunique()
    for figure in values[values["alpha"] != "best"].to_dict("records"):
        mean = f"{figure['paper_mean']:.1f}" if figure["experiment"] != "sachs" else f"{figure['paper_mean']:g}"
        ours = rf"\textbf{{{mean}" if figure["best"] else mean
        assert any(ours in row for row in rows)


def test_names_of_rows() -> None:
    labels = list(printed_values("unknown_nn", whole_comparison())["label"].unique())
    assert labels[:3] == ["UTIGSP*-lin", "UTIGSP*", "UTIGSP(α=2e-1)-lin"]
    assert labels[16:] == [
        "JCI-PC*",
        *(f"JCI-PC(α={alpha})" for alpha in ("2e-1", "1e-1", "1e-2", "1e-3")),
        "DCDI-G",
        "DCDI-DSF",
    ]
    assert r"UTIGSP($\alpha$=2e-1)-lin & " in to_latex("unknown_nn", printed_values("unknown_nn", whole_comparison()))


def test_the_best_mean_of_a_column_is_bold_and_rows_that_look_at_the_truth_are_not() -> None:
    values = printed_values("imperfect_nn", whole_comparison())
    for _, column in values.groupby(["nodes", "edges_per_node", "metric"]):
        fair = column[column["alpha"] != "best"]
        assert set(column.loc[column["best"], "ours_mean"].round(1)) == {fair["ours_mean"].round(1).min()}
        assert not column.loc[column["alpha"] == "best", "best"].any()
    sachs = printed_values("sachs", whole_comparison())
    best = sachs[sachs["best"]]
    assert dict(zip(best["metric"], best["method"], strict=False)) == {
        "shd": "IGSP", "sid": "CAM", "tp": "CAM", "fn": "GIES", "fp": "IGSP", "rev": "CAM", "f1": "CAM",
    }  # fmt: skip


def test_what_was_not_run_or_failed_says_so() -> None:
    partly = whole_comparison()[whole_comparison()["nodes"] == 10].copy()
    failed = (partly["method"] == "GIES") & (partly["table"] == "tab:perfect_linear")
    partly.loc[failed, "n_ok"] = 8
    values = printed_values("perfect_linear", partly)
    (gies,) = [line for line in to_markdown(values).splitlines() if line.startswith("| GIES")]
    assert gies.startswith("| GIES | **0.6** ± 1.3 (8/10) [0.6 ± 1.3] |")
    assert gies.endswith("| – [53.1 ± 25.8] | – [82.9 ± 84.9] |")
    nothing = printed_values("perfect_linear", pd.DataFrame(columns=COLUMNS))
    assert "over no data set per condition" in caption(nothing)
    assert "mean ± standard deviation over 10 data sets per condition" in caption(values)
    assert "value on one data set per condition" in caption(values.assign(n=values["n"].where(values["n"].isna(), 1)))
    assert not nothing["best"].any()


def test_a_table_is_written_in_three_formats(tmp_path: Path) -> None:
    write_printed("sachs", whole_comparison(), tmp_path / "paper")
    assert {path.name for path in (tmp_path / "paper").iterdir()} == {
        f"tab_sachs.{kind}" for kind in ("tex", "md", "csv")
    }
    read = pd.read_csv(tmp_path / "paper" / "tab_sachs.csv")
    assert len(read) == 35
    assert {"label", "paper_mean", "ours_mean", "verdict"} <= set(read.columns)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex (Debian: texlive-latex-recommended)")
def test_latex_sets_all_tables_within_the_papers_width(tmp_path: Path) -> None:
    tables = "\n\\clearpage\n".join(to_latex(label, printed_values(label, whole_comparison())) for label in LABELS)
    (tmp_path / "all.tex").write_text(
        "\\documentclass[10pt]{article}\n\\usepackage[T1]{fontenc}\n\\usepackage{booktabs,graphicx,xcolor}\n"
        f"\\usepackage[width={NEURIPS_WIDTH},height=9in]{{geometry}}\n\\begin{{document}}\n{tables}\\end{{document}}\n",
        encoding="utf-8",
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert not re.findall(r"^(?:Overfull|Underfull) \\.box.*", done.stdout, re.MULTILINE)
    assert f"({len(LABELS)} pages" in done.stdout
    assert PREAMBLE in tables
