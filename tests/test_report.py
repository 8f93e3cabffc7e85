"""The report is one file that holds everything, and it survives what a run may leave."""

import base64
import html.parser
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmark.evaluation import COST_COLUMNS
from benchmark.paper.reproduction import compare, coverage
from benchmark.plan import Experiment, Plan, figure_axes
from benchmark.report import write_report
from benchmark.tables import build_tables
from tests.project import ROOT
from tests.samples import SACHS, condition, configuration, experiment, metric_frame, metric_rows, row

PLACE = condition(edges_per_node=1, datasets=2)
VOID = {"area", "base", "br", "col", "img", "input", "link", "meta", "source", "wbr"}


def picture(name: str) -> bytes:
    return f"picture of {name}".encode()


def cost_rows(shown: Experiment, **changes: Any) -> list[dict[str, Any]]:
    return [
        {
            "experiment": shown.name,
            "condition": place.name,
            "nodes": 10,
            "dataset": index,
            "row": by.name,
            "method": by.label,
            "engine": "python",
            "hyperparameters": "x=1",
            "status": "ok",
            "reason": "",
            "path": f"fits/known/{place.name}/{index}/{by.name}.json",
            "seconds": 1.5,
            "peak_memory_mb": 100.0,
        }
        | changes
        for place in shown.conditions
        for index in place.indices
        for by in shown.rows
    ]


def report(folder: Path, experiments: list[Experiment], costs: list[dict[str, Any]] | None = None) -> str:
    """Write a report on experiments whose every distance is 1; return its text."""
    plan = Plan(configuration("quick"))
    plan.experiments = {shown.name: shown for shown in experiments}
    plan.rows = {by.name: by for shown in experiments for by in shown.rows}
    plan.conditions = {place.name: place for shown in experiments for place in shown.conditions}
    names = ("shd", "sid", "tp", "fn", "fp", "rev", "f1")
    metrics = metric_frame(
        [
            one
            for shown in experiments
            for place in shown.conditions
            for by in shown.rows
            for one in metric_rows(shown, place, by, {name: [1.0] * place.datasets for name in names})
        ]
    )
    spent = [one for shown in experiments for one in cost_rows(shown)] if costs is None else costs
    metrics.to_csv(folder / "metrics.csv", index=False)
    pd.DataFrame(spent, columns=COST_COLUMNS).to_csv(folder / "costs.csv", index=False)
    compare(plan, metrics).to_csv(folder / "reproduction.csv", index=False)
    for shown in experiments:
        for name in figure_axes(shown):
            (folder / "figures").mkdir(exist_ok=True)
            (folder / "figures" / f"{name}.png").write_bytes(picture(name))
    texts = ROOT / "workflow" / "report"
    output = folder / "report.html"
    write_report(plan, folder, template=texts / "report.html.j2", captions=texts / "captions.yaml", output=output)
    page = output.read_text(encoding="utf-8")
    check(page)
    return page


class Checker(html.parser.HTMLParser):
    """Collects links and checks that elements are closed and anchors exist."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src"):
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check(page: str) -> None:
    """Check what every report must be: well formed, and whole without anything from elsewhere."""
    checker = Checker()
    checker.feed(page)
    assert not checker.open
    assert len(set(checker.ids)) == len(checker.ids)
    for link in checker.links:
        assert link.startswith("data:image/png;base64,") or link.removeprefix("#") in checker.ids
    assert not re.search(r"https?:|//[a-z]+\.|<script|@import|url\(", page)
    assert not re.search(r">\s*nan\s*<|>\s*None\s*<", page)


def section(page: str, name: str) -> str:
    found = re.search(rf'<section id="{name}">.*?</section>', page, flags=re.DOTALL)
    assert found
    return found[0]


ROWS = [row("one", "Method one"), row("control", "A control", is_control=True)]
PERFECT = experiment([PLACE, condition("nn", edges_per_node=4, datasets=2)], ROWS, name="perfect", paper="main")
SACHS_SHOWN = experiment([SACHS], ROWS, name="sachs", paper="sachs")


def test_the_report_holds_every_table_and_figure(tmp_path: Path) -> None:
    page = report(tmp_path, [PERFECT, SACHS_SHOWN])
    metrics = pd.read_csv(tmp_path / "metrics.csv", dtype={"dataset": str}, keep_default_na=False)
    for shown in (PERFECT, SACHS_SHOWN):
        part = section(page, shown.name)
        assert f"<h2>{shown.title}</h2>" in part
        tables = build_tables(shown, metrics)
        assert part.count("<table>") == len(tables)
        for table in tables:
            assert f"<h3>{table.caption.replace('`', '')}</h3>" in part
            for label, _ in table.sections["Selected without the truth"]:
                assert f"<tr><td>{label}</td>" in part
        assert part.count("<img ") == len(figure_axes(shown))
        for name in figure_axes(shown):
            assert base64.b64encode(picture(name)).decode() in part
    assert "GIES (paper)" in section(page, "sachs")


def test_zero_failures_and_an_empty_comparison(tmp_path: Path) -> None:
    page = report(tmp_path, [PERFECT])
    assert "None: every fit of this run ended with a graph." in section(page, "failures")
    assert "<table" not in section(page, "failures")
    assert "None of the paper&#39;s 2,087 published figures was run" in section(page, "comparison")
    assert "<table" not in section(page, "comparison")
    assert "Failed fits (0)" in page


def test_a_comparison_with_and_without_spread(tmp_path: Path) -> None:
    by = [row("gies", "GIES")]
    perfect = experiment([PLACE], by, name="perfect", paper="main")
    sachs = experiment([SACHS], by, name="sachs", paper="sachs")
    page = report(tmp_path, [perfect, sachs])
    part = section(page, "comparison")
    assert part.count("<tr>") == 1 + 2 + 7
    assert "9 of the paper&#39;s 2,087 published figures were run" in part
    assert 'class="verdict-differs"' in part
    assert "<td>linear</td><td>10</td><td>1</td><td>GIES</td><td>SHD</td>" in part


def test_text_is_escaped(tmp_path: Path) -> None:
    by = row("bold", "<b>bold</b> & more")
    shown = experiment([PLACE], [by])
    costs = cost_rows(shown, status="error", reason="<script>alert(1)</script>", hyperparameters="x=<i>")
    page = report(tmp_path, [shown], costs)
    assert "<b>bold" not in page
    assert "<i>" not in page
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; more" in section(page, "perfect")
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; more" in section(page, "costs")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in section(page, "failures")


def test_failures_are_listed_once_with_their_reason(tmp_path: Path) -> None:
    # Two experiments that share a cell list it twice in the costs.
    costs = cost_rows(PERFECT)
    costs[0] |= {"status": "timeout", "reason": "it took more than 0.1 hours"}
    costs[1] |= {"status": "error", "reason": "NA"}
    page = report(tmp_path, [PERFECT], [*costs, costs[0]])
    part = section(page, "failures")
    assert part.count("it took more than 0.1 hours") == 1
    assert "<td>timeout</td>" in part
    assert "<td>NA</td>" in part
    assert f"<code>{costs[0]['path']}</code>" in part
    assert "snakemake --cores 1 --configfile presets/quick.yaml --force &lt;path&gt;" in part
    assert "<b>2</b>failed fits" in page
    assert f"<b>{len(costs)}</b>fits" in page


def test_fits_without_costs_are_no_nan(tmp_path: Path) -> None:
    # An external program need not say what a fit cost.
    page = report(tmp_path, [PERFECT], cost_rows(PERFECT, seconds=None, peak_memory_mb=None))
    assert "<td>–</td>" in section(page, "costs")
    assert "nan" not in section(page, "costs")


def test_costs_are_sums_over_fits(tmp_path: Path) -> None:
    page = report(tmp_path, [PERFECT], cost_rows(PERFECT, seconds=1800.0))
    cells = ("Method one", "python", "10", "4", "1800.000", "1800.00", "2.000", "100")
    assert "".join(f"<td>{cell}</td>" for cell in cells) in section(page, "costs")
    assert "<b>4.00</b>hours of fitting" in page


def test_configuration_and_versions_are_named(tmp_path: Path) -> None:
    page = report(tmp_path, [PERFECT])
    assert "preset: quick" in section(page, "configuration")
    assert "memory_gb: 4" in section(page, "configuration")
    versions = section(page, "versions")
    for name in ("Python", "numpy", "pandas", "gadjid", "commit of the fits"):
        assert f"<tr><td>{name}</td><td>" in versions


def test_the_overview_says_how_much_was_run(tmp_path: Path) -> None:
    page = report(tmp_path, [PERFECT, SACHS_SHOWN])
    overview = section(page, "overview")
    for text in ("<b>2</b>experiments", "<b>5</b>data sets", "<b>2</b>methods", "<b>10</b>fits", "<b>0</b>failed fits"):
        assert text in overview
    assert "data convention <code>released</code>" in overview


@pytest.mark.parametrize("rows", [1, 0])
def test_the_sentence_on_coverage_is_that_of_the_comparison(rows: int) -> None:
    by = row("gies", "GIES")
    shown = experiment([PLACE], [by], paper="main")
    plan = Plan(configuration("quick"))
    plan.experiments = {"perfect": shown}
    metrics = metric_frame(metric_rows(shown, PLACE, by, {"shd": [1.0, 2.0]})[: 2 * rows])
    assert coverage(compare(plan, metrics)).startswith("1 of the paper's" if rows else "None of the paper's")
