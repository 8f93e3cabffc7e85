"""The report is one file that holds everything, and it survives what a run may leave."""

import base64
import html.parser
import io
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

from benchmark.evaluation import COST_COLUMNS
from benchmark.paper.reproduction import compare, coverage
from benchmark.plan import Experiment, Plan, figure_axes
from benchmark.report.failures import SECTION, failure_line
from benchmark.report.images import WIDEST, picture
from benchmark.report.overview import first_row, panels
from benchmark.report.results import NOT_RUN, Cell, Published, report_parts
from benchmark.tables import BEST, GRID, SELECTED, build_tables
from tests.reports import INK, cost_rows, draw, write_page, write_results
from tests.samples import SACHS, condition, configuration, experiment, metric_frame, metric_rows, row

PLACE = condition(edges_per_node=1, datasets=2)
VOID = {"area", "base", "br", "col", "img", "input", "link", "meta", "source", "wbr"}
BESIDE = re.compile(
    r"(metrics|costs|reproduction|tables/[\w-]+)\.(csv|md|tex)|figures/[\w-]+\.(pdf|png)|logs/\S*|(tables|figures)/"
)


def report(folder: Path, experiments: list[Experiment], costs: list[dict[str, Any]] | None = None) -> str:
    """Write a report on experiments whose every distance is 1; return its text."""
    page = write_page(write_results(folder, experiments, costs), folder).read_text(encoding="utf-8")
    check(page)
    return page


class Checker(html.parser.HTMLParser):
    """Collects links and the widths of each table's rows, and checks that elements are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.widths: list[list[int]] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.widths.append([])
        if tag == "tr":
            self.widths[-1].append(0)
        if tag in ("td", "th"):
            self.widths[-1][-1] += int(dict(attrs).get("colspan") or 1)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src"):
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check(page: str) -> None:
    """Check what every report must be: well formed, whole without anything from elsewhere, its links not dangling."""
    checker = Checker()
    checker.feed(page)
    assert not checker.open
    assert checker.widths
    assert all(len(set(widths)) == 1 for widths in checker.widths)
    assert len(set(checker.ids)) == len(checker.ids)
    for link in checker.links:
        if link.startswith("#"):
            assert link[1:] in checker.ids, link
        else:
            assert link.startswith("data:image/webp;base64,") or BESIDE.fullmatch(link), link
    assert not re.search(r"https?:|//[a-z]+\.|@import|url\(", page)
    assert page.count("<script") == 1
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
        for table in build_tables(shown, metrics):
            assert f'id="table-{table.name}"' in part
            shows, _, more = table.caption.replace("`", "").partition(". ")
            assert f'id="table-{table.name}">{shows.removesuffix(".")} <a' in part
            assert f'<p class="muted">{more}</p>' in part or not more
            for kind in ("csv", "tex", "md"):
                assert f'href="tables/{table.name}.{kind}"' in part
                assert (tmp_path / "tables" / f"{table.name}.{kind}").exists()
            for label, _ in table.sections[SELECTED]:
                assert f'<th scope="row">{label}</th><td>python</td>' in part
        for name in figure_axes(shown):
            assert picture(tmp_path / "figures" / f"{name}.png").uri in page
            assert f'href="figures/{name}.pdf"' in page
    assert page.count("<img ") == sum(len(figure_axes(shown)) for shown in (PERFECT, SACHS_SHOWN))
    assert '<th scope="row">GIES</th>' in section(page, "sachs").split(NOT_RUN, 1)[1]


# --- ours and the paper's in one cell


def parts_of(shown: Experiment, metrics: pd.DataFrame) -> dict[str, dict[str, list[Cell]]]:
    """Return the cells of an experiment's first table by part and label."""
    plan = Plan(configuration("quick"))
    plan.experiments = {shown.name: shown}
    table = build_tables(shown, metrics)[0]
    parts = report_parts(table, shown, Published(compare(plan, metrics)))
    return {part.title: {line.label: list(line.cells) for line in part.lines} for part in parts}


def test_the_published_number_stands_in_the_cell_of_ours() -> None:
    # Published: GIES on linear data, 10 nodes, e = 1, has SHD 0.6 ± 1.3 and SID 0.0 ± 0.0.
    place, by = condition(edges_per_node=1, datasets=10), row("gies", "GIES")
    shown = experiment([place], [by], paper="main")
    values: dict[str, list[float | None]] = {"shd": [0.0, 1.0] * 5, "sid": [9.0, 10.0] * 5}
    parts = parts_of(shown, metric_frame(metric_rows(shown, place, by, values)))
    assert parts[SELECTED]["GIES"] == [
        Cell("0.5 ± 0.5", "0.6 ± 1.3", "agrees"),
        Cell("9.5 ± 0.5", "0.0 ± 0.0", "worse"),
    ]
    assert "GIES" not in parts[NOT_RUN]
    assert parts[NOT_RUN]["CAM"] == [Cell("", "1.9 ± 2.6"), Cell("", "1.7 ± 3.1")]


def test_each_alpha_has_its_own_published_number() -> None:
    place = condition(edges_per_node=1, datasets=10)
    by = row("igsp-gauss", "IGSP", {"alpha": 0.001})
    shown = experiment([place], [by], paper="main")
    values: dict[str, list[float | None]] = {"shd": [1.0, 2.0] * 5, "sid": [1.0, 2.0] * 5}
    made = [
        one
        for choice, alpha in (("selected", "0.001"), ("best_shd", "0.2"), ("grid", "0.001"), ("grid", "0.2"))
        for one in metric_rows(shown, place, by, values, choice, f"alpha={alpha}, test=gauss")
    ]
    parts = parts_of(shown, metric_frame(made))
    paper = {part: {label: cells[0].paper for label, cells in parts[part].items()} for part in (SELECTED, GRID, BEST)}
    assert paper == {
        SELECTED: {"IGSP": "2.4 ± 2.1"},
        GRID: {"IGSP (alpha=0.001, test=gauss)": "2.4 ± 2.1", "IGSP (alpha=0.2, test=gauss)": "9.3 ± 4.1"},
        BEST: {"IGSP*": "2.2 ± 2.0"},
    }


def test_data_drawn_otherwise_have_no_published_number() -> None:
    place, by = condition(edges_per_node=1, datasets=10, n=500), row("gies", "GIES")
    shown = experiment([place], [by], paper="main")
    parts = parts_of(shown, metric_frame(metric_rows(shown, place, by, {"shd": [1.0] * 10, "sid": [1.0] * 10})))
    assert [cell.paper for cell in parts[SELECTED]["GIES"]] == ["", ""]


# --- the picture of ours against the paper


def test_the_picture_has_a_tile_per_method_condition_and_metric() -> None:
    places = [condition("nn", edges_per_node=4, datasets=10), condition(edges_per_node=1, datasets=10)]
    rows = [row("gies", "GIES"), row("own", "Own")]
    shown = experiment(places, rows, paper="main")
    values: dict[str, list[float | None]] = {"shd": [0.0, 1.0] * 5, "sid": [90.0, 91.0] * 5}
    metrics = metric_frame([one for p in places for by in rows for one in metric_rows(shown, p, by, values)])
    plan = Plan(configuration("quick"))
    plan.experiments = {shown.name: shown}
    (panel,) = panels(plan, compare(plan, metrics))
    assert panel.headings == [[("linear", 1), ("NN", 1)], [("10", 1), ("10", 1)], [("1", 1), ("4", 1)]]
    ((label, cells),) = panel.lines  # the method of the user's own is not in the paper
    assert label == "GIES"
    assert [[tile.shade for tile in tiles] for tiles in cells] == [["better-0", "worse-4"], ["better-4", "worse-4"]]
    assert cells[0][0].text.startswith("GIES, linear, 10 nodes, e = 1: SHD 0.5 ± 0.5, paper 0.6 ± 1.3, -0.2")
    assert cells[0][0].text.endswith(": agrees")


def test_panels_beyond_the_first_row_are_folded(tmp_path: Path) -> None:
    assert first_row([]) == 1
    places = [condition(m, d, e) for m in ("linear", "anm", "nn") for d in (10, 20) for e in (1, 4)]
    by = [row("dcdi-g", "DCDI-G")]
    shown = [
        experiment(places, by, "perfect", "main"),
        experiment(places, by, "ablation", "ablation"),
        experiment(places, by, "uniform", "uniform_intervention"),
        experiment([SACHS], by, "sachs", "sachs"),
    ]
    page = report(tmp_path, shown)
    assert "1 more experiments of the paper" not in page
    assert page.index("1 more experiment of the paper") < page.index('<caption><a href="#sachs">')


# --- figures


def test_a_figure_is_smaller_but_keeps_its_colours(tmp_path: Path) -> None:
    draw(tmp_path / "wide.png", width=2 * WIDEST)
    made = picture(tmp_path / "wide.png")
    image = Image.open(io.BytesIO(base64.b64decode(made.uri.split(",")[1]))).convert("RGB")
    assert image.width == WIDEST
    assert made.width / made.height == pytest.approx(image.width / image.height, rel=0.05)
    middle = image.getpixel((image.width // 2, image.height // 2))
    assert isinstance(middle, tuple)
    assert all(abs(a - b) <= 8 for a, b in zip(middle, INK, strict=True))


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
    assert part.count('<tr id="figure-') == 2 + 7
    assert "9 of the paper&#39;s 2,087 published figures were run" in part
    assert '<em class="differs">differs</em>' in part
    cells = ("linear", "10", "1", "GIES", "python", "SHD", "<b>1.0 ± 0.0</b> <small>0.6 ± 1.3</small>")
    assert "".join(f"<td>{cell}</td>" for cell in cells) in part


def test_text_is_escaped(tmp_path: Path) -> None:
    by = row("bold", "<b>bold</b> & more")
    shown = experiment([PLACE], [by])
    costs = cost_rows(shown, status="error", reason="<script>alert(1)</script>", hyperparameters="x=<i>")
    page = report(tmp_path, [shown], costs)
    assert "<b>bold" not in page
    assert "x=<i>" not in page
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
    path = costs[0]["path"]
    assert f'<a href="logs/{path.removesuffix(".json")}.log"><code>{path}</code></a>' in part
    assert "<code>make retry PRESET=quick</code>" in part
    assert "1 timeout, 1 error." in part
    assert '<dt>failed fits</dt><dd><a href="#failures">2</a></dd>' in page
    assert f"<dt>fits</dt><dd>{len(costs)}</dd>" in page


def test_combinations_that_failed_alike_are_one_line(tmp_path: Path) -> None:
    costs = [
        one
        for value in range(50)
        for one in cost_rows(PERFECT, hyperparameters=f"x={value}", status="error" if value < 40 else "ok", reason="no")
    ]
    part = section(report(tmp_path, [PERFECT], costs), "failures")
    assert part.count("<td>x=0</td><td>error</td><td>no</td>") == len(cost_rows(PERFECT))
    assert part.count(">40 of 50</td>") == len(cost_rows(PERFECT))


def test_recorded_data_sets_of_one_shard_are_fits_of_their_own(tmp_path: Path) -> None:
    shard = "records/known/linear-d10-e1-perfect/one-0123456789abcdef.jsonl.xz"
    first = cost_rows(PERFECT, path=shard, recorded="0123456789ab", seconds=1800.0)[0]
    costs = [first, first | {"dataset": "01", "status": "error", "reason": "singular"}]
    page = report(tmp_path, [PERFECT], costs)
    assert "<dt>fits</dt><dd>2</dd>" in page
    assert "<dt>hours of fitting</dt><dd>1.00</dd>" in page
    part = section(page, "failures")
    assert f"<td><code>{shard}</code>, data set 01</td>" in part  # the records keep no log to lead to
    assert ">1 of 1</td>" in part


def test_fits_without_costs_are_no_nan(tmp_path: Path) -> None:
    # An external program need not say what a fit cost.
    page = report(tmp_path, [PERFECT], cost_rows(PERFECT, seconds=None, peak_memory_mb=None))
    assert '<td data-value="">–</td>' in section(page, "costs")
    assert "nan" not in section(page, "costs")


def test_costs_are_sums_over_fits(tmp_path: Path) -> None:
    page = report(tmp_path, [PERFECT], cost_rows(PERFECT, seconds=1800.0))
    line = re.search(r"<tr><td>Method one</td>.*?</tr>", section(page, "costs"))
    assert line
    cells = ["Method one", "python", "10", "4", "1,800.000", "1,800.00", "2.000", "100"]
    assert re.findall(r">([^<]+)</td>", line[0]) == cells
    assert "<dt>hours of fitting</dt><dd>4.00</dd>" in page


def test_configuration_and_versions_are_named(tmp_path: Path) -> None:
    page = report(tmp_path, [PERFECT])
    assert "preset: quick" in section(page, "configuration")
    assert "memory_gb: 2" in section(page, "configuration")
    versions = section(page, "versions")
    for name in ("Python", "numpy", "pandas", "gadjid", "commit of the fits"):
        assert f'<tr><th scope="row">{name}</th><td>' in versions


def test_the_overview_says_how_much_was_run(tmp_path: Path) -> None:
    page = report(tmp_path, [PERFECT, SACHS_SHOWN])
    overview = section(page, "overview")
    for name, value in {"experiments": 2, "data sets": 5, "methods": 2, "fits": 10, "failed fits": 0}.items():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in overview
    assert "<dt>of the paper&#39;s figures</dt><dd>0 of 2,087</dd>" in overview
    assert "data convention <code>released</code>" in overview


@pytest.mark.parametrize("rows", [1, 0])
def test_the_sentence_on_coverage_is_that_of_the_comparison(rows: int) -> None:
    by = row("gies", "GIES")
    shown = experiment([PLACE], [by], paper="main")
    plan = Plan(configuration("quick"))
    plan.experiments = {"perfect": shown}
    metrics = metric_frame(metric_rows(shown, PLACE, by, {"shd": [1.0, 2.0]})[: 2 * rows])
    assert coverage(compare(plan, metrics)).startswith("1 of the paper's" if rows else "None of the paper's")


@pytest.mark.parametrize(
    ("statuses", "line"),
    [
        (["ok"] * 3, "Fits: all 3 ended with a graph."),
        (
            ["timeout", "error", "timeout"],
            "Fits: 3 of 3 failed (2 timeout, 1 error); section 'Failed fits' of results/mine/report.html says why; "
            "make retry PRESET=mine runs them again.",
        ),
    ],
)
def test_a_run_ends_with_a_line_on_its_failures(tmp_path: Path, statuses: list[str], line: str) -> None:
    results = tmp_path / "mine"
    results.mkdir()
    fits = [one | {"status": status} for one, status in zip(cost_rows(PERFECT), statuses, strict=False)]
    # An experiment that shares a cell lists it again.
    pd.DataFrame([*fits, fits[0]], columns=COST_COLUMNS).to_csv(results / "costs.csv", index=False)
    assert failure_line(results) == line
    assert f"<h2>{SECTION} " in report(results, [PERFECT], fits)
