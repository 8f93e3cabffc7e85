"""What the README and the documentation say is so."""

import contextlib
import inspect
import io
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmark import methods
from benchmark.methods import Method
from benchmark.paper.published import load_published
from benchmark.plan import Plan, data_path, fit_path
from tests.project import ROOT
from tests.samples import PRESETS, configuration, own_configuration

README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
ADDING = ROOT / "docs" / "adding-a-method.md"


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def code_of(path: Path) -> list[str]:
    """Return the blocks of code and the code within lines of a page."""
    text = text_of(path)
    blocks = re.findall(r"```[^\n]*\n(.*?)```", text, flags=re.DOTALL)
    return blocks + re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def section(path: Path, title: str) -> str:
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", text_of(path), flags=re.DOTALL | re.MULTILINE)
    assert found, title
    return found[1]


def block(path: Path, title: str, language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", section(path, title), flags=re.DOTALL)
    assert found, title
    return found[1]


def test_the_python_of_the_readme_runs() -> None:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(block(README, "From Python", "python"), {})
    assert re.fullmatch(r"\d+ \d+\n", output.getvalue())


def test_every_make_target_that_a_page_names_exists() -> None:
    makefile = text_of(ROOT / "Makefile")
    targets = set(" ".join(re.findall(r"^([a-z][a-z -]*):", makefile, flags=re.MULTILINE)).split())
    named = {name for page in PAGES for code in code_of(page) for name in re.findall(r"\bmake ([a-z][a-z-]*)", code)}
    assert {"quick", "test", "run", "unlock"} <= named <= targets
    helped = re.findall(r'echo "make ([a-z| -]+?)(?: PRESET=\w+)?  ', makefile)
    assert {name.strip() for names in helped for name in names.split("|")} <= targets
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE)
    assert set(phony.split()) == targets


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", text_of(path), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_and_image_exists(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert target.is_file(), link
        assert not anchor or anchor in anchors(target), link


def made_by_runs() -> re.Pattern[str]:
    return re.compile(r"^(results|fits|data|metrics|logs|tables|figures)/|^\.venv|<|\*|\{|my-|/$")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_of_the_project_that_a_page_names_exists(page: Path, readme_files: dict[str, str]) -> None:
    for code in re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL)):
        for name in re.findall(r"(?<![\w<>{}*/.-])[\w.-]+(?:/[\w.-]+)+(?![\w<>{}*/-])", code):
            top = name.split("/")[0]
            if (ROOT / top).is_dir() and name not in readme_files and not made_by_runs().search(name):
                assert (ROOT / name).exists(), name


def test_every_cell_that_the_readme_shows_is_one_of_the_quick_preset() -> None:
    plan = Plan(configuration("quick"))
    cells = {
        fit_path(shown.targets_of(by), place.name, index, by.name)
        for shown in plan.experiments.values()
        for place in shown.conditions
        for index in place.indices
        for by in shown.rows
    }
    cells |= {data_path(place.name, index) for place in plan.conditions.values() for index in place.indices}
    shown_cells = set(re.findall(r"\b(?:fits|data)/[\w./-]+\.(?:json|npz)", text_of(README)))
    assert shown_cells
    assert shown_cells <= cells
    tables = re.findall(r"\bmetrics/(\w+)(?:/([\w.-]+))?\.csv", text_of(README))
    assert {bool(condition) for _, condition in tables} == {False, True}
    for experiment, condition in tables:
        assert plan.part(experiment, condition or None).conditions
    explained = re.search(
        r"`fits/(\w+)/(\w+)-d(\d+)-e(\d+)-(\w+)/(\d+)/(\w+)\.json` reads: (.*?)\.", text_of(README), re.S
    )
    assert explained
    for word in (explained[1], explained[2].upper(), explained[3], explained[4], explained[6], explained[7]):
        assert word in explained[8]


def number(text: str) -> int:
    return int(text.replace(",", ""))


@pytest.mark.parametrize("preset", PRESETS)
def test_the_numbers_of_the_preset_table_are_those_of_the_plan(preset: str) -> None:
    line = re.search(
        rf"^\| `{preset}` \| (.*?) \| ([\d,]+) \| ([\d,]+) \(([\d,]+)\) \|", text_of(README), flags=re.MULTILINE
    )
    assert line
    plan = Plan(configuration(preset))
    jobs = {  # experiments share cells
        (by.name, shown.targets_of(by), place.name, index)
        for shown in plan.experiments.values()
        for place in shown.conditions
        for index in place.indices
        for by in shown.rows
    }
    assert number(line[2]) == sum(place.datasets for place in plan.conditions.values())
    assert number(line[3]) == sum(len(plan.grid(*job)) for job in jobs)
    assert number(line[4]) == len(jobs)
    per_condition = re.search(r"(\d+) data sets? a condition", line[1])
    assert per_condition
    assert int(per_condition[1]) == plan.config["datasets"]


def test_every_preset_is_in_the_table() -> None:
    listed = set(re.findall(r"^\| `(\w+)` \| .* \([\d,]+\) \|", text_of(README), flags=re.MULTILINE))
    assert listed == set(PRESETS)
    # Presets of a user's own lie there, too.
    assert {path.stem for path in (ROOT / "presets").glob("*.yaml")} | {"paper"} >= set(PRESETS)


def test_the_readme_says_how_near_it_comes_as_the_measured_page_does() -> None:
    words = " ".join(text_of(README).split())
    said = re.search(
        r"([\d,]+) of the paper's 2,087 published figures have an answer; of ([\d,]+) on its own data sets, "
        r"([\d.]+%) are within one standard error and ([\d.]+%) within two",
        words,
    )
    assert said
    page = text_of(ROOT / "docs" / "measured-reproduction.md")
    assert f" {said[1]} of the paper's 2,087 published figures have an answer." in page
    assert f" {said[2]} figures: " in page
    assert f"({said[3]}) within one standard error" in page
    assert f"({said[4]}) within two." in page


def test_the_number_of_published_figures() -> None:
    count = f"{len(load_published()):,}"
    for page in (README, ROOT / "docs" / "reproducing-the-paper.md"):
        assert f"{count}" in text_of(page)


def test_every_folder_of_the_layout_exists() -> None:
    for line in re.findall(r"^\| (`.*?) \|", section(README, "The layout"), flags=re.MULTILINE):
        for name in re.findall(r"`([^`]+)`", line):
            assert name.startswith("results/") or (ROOT / name).exists(), name


# --- adding a method


def names_that_are_read() -> set[str]:
    """Return every name that benchmark.methods takes from a method's file."""
    source = inspect.getsource(methods)
    read = set(re.findall(r"\bmodule\.([A-Za-z]\w*)", source))
    read |= set(re.findall(r'(?:getattr|hasattr)\(module, "(\w+)"', source))
    (required,) = re.findall(r"for name in \(([^)]*)\) if not hasattr", source)
    return (read | set(re.findall(r'"(\w+)"', required))) - {"__name__"}


def test_the_table_of_names_lists_all_that_are_read() -> None:
    listed = re.findall(r"^\| `(\w+)[^`]*` \| (yes|no) \|", text_of(ADDING), flags=re.MULTILINE)
    names = [name for name, _ in listed]
    assert len(set(names)) == len(names)
    read = names_that_are_read()
    assert {"LABEL", "SUPPORTS", "SPACE", "SELECTION", "fit", "sweep", "DATA"} <= read
    assert set(names) | {"space"} == read  # space(rng) is named in the line of SPACE
    assert "`space(rng)`" in text_of(ADDING)
    assert {name for name, needed in listed if needed == "yes"} == {"LABEL", "SUPPORTS", "SPACE", "SELECTION", "fit"}
    for name in read:
        assert f"``{name}" in (methods.__doc__ or ""), name


def test_every_setting_is_named() -> None:
    line = next(line for line in text_of(ADDING).splitlines() if line.startswith("| `SUPPORTS`"))
    assert set(re.findall(r"`([a-z-]+)`", line)) == set(methods.SETTINGS)


def test_the_row_that_the_page_shows_is_valid(add_method: Any, readme_files: dict[str, str]) -> None:
    module: dict[str, Any] = {}
    exec(readme_files["baselines/correlation.py"], module)
    add_method(
        Method(
            "correlation",
            module["LABEL"],
            Path("correlation.py"),
            frozenset(module["SUPPORTS"]),
            module["SELECTION"],
            module["fit"],
            space=lambda rng: methods.product(module["SPACE"]),
        )
    )
    rows = yaml.safe_load(block(ADDING, "Rows", "yaml"))
    (name,) = rows["methods"]
    plan = Plan(own_configuration(["correlation", name], **rows))
    assert plan.rows[name].label == "Correlation (loose)"
    assert plan.grid(name, "known", "c", "00") == [{"threshold": 0.05}, {"threshold": 0.1}]
    Plan(configuration(**yaml.safe_load(readme_files["presets/mine.yaml"])))


def test_every_experiment_is_in_the_table_of_the_paper() -> None:
    page = text_of(ROOT / "docs" / "reproducing-the-paper.md")
    rows = re.findall(r"^\| (`.*?) \|", page, flags=re.MULTILINE)
    named = {name for one in rows for name in re.findall(r"`(\w+)`", one)}
    assert named == set(configuration()["experiments"])
