"""Titles and labels are text, whatever they look like; what cannot be drawn or tabulated says so."""

from pathlib import Path

from matplotlib.figure import Figure

from benchmark.figures import AXIS_NAMES, missing_figure, save
from benchmark.tables import missing_tables, table_layouts, write_table
from tests.samples import condition, experiment, row


def test_dollars_of_a_title_are_no_formula(tmp_path: Path) -> None:
    figure = Figure()
    figure.suptitle(r"costs 5 $ or $\frac{")
    axes = figure.subplots()
    axes.plot([0, 1], label="saves ${x}$ and $")
    axes.legend()
    axes.set_xlabel(AXIS_NAMES["edges_per_node"])
    save(figure, tmp_path / "a")
    assert (tmp_path / "a.png").stat().st_size > 0


def test_a_figure_that_could_not_be_drawn_says_why(tmp_path: Path) -> None:
    figure = missing_figure("Costs $", "ValueError: $ is no number")
    save(figure, tmp_path / "a")
    assert (tmp_path / "a.pdf").stat().st_size > 0
    assert "ValueError: $ is no number" in " ".join(figure.texts[0].get_text().split())


def test_tables_that_could_not_be_made_say_why(tmp_path: Path) -> None:
    shown = experiment([condition(), condition("nn")], [row("a")])
    for table in missing_tables(shown, "KeyError: 'x'"):
        write_table(table, tmp_path)
    for name in table_layouts(shown):
        for kind in ("md", "tex"):
            assert "KeyError: 'x'" in (tmp_path / f"{name}.{kind}").read_text(encoding="utf-8")
        assert (tmp_path / f"{name}.csv").exists()
