"""The report in a real browser: it sorts, filters, folds and fits a phone, without an error and without the network."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select

from tests.reports import METRICS, cost_rows, write_page, write_results
from tests.samples import SACHS, condition, experiment, metric_frame, metric_rows, row

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs a browser: Debian's chromium and chromium-driver"),
]
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
DESKTOP, PHONE = 1400, 400
ROWS = [
    row("gies", "GIES"),
    row("dcdi-g", "DCDI-G, as published (told the targets)"),
    row("igsp-gauss", "IGSP", {"alpha": 0.001}),
    row("empty", "Empty graph", is_control=True),
]


class Page:
    """The report in a browser window of a given width."""

    def __init__(self, driver: webdriver.Chrome, path: Path) -> None:
        self.driver = driver
        self.path = path

    def open(self, width: int = DESKTOP, scheme: str = "light", anchor: str = "") -> None:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width == PHONE}
        wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        media = {"features": [{"name": name, "value": value} for name, value in wishes.items()]}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        self.driver.get("about:blank")
        self.driver.get(f"{self.path.as_uri()}{anchor}")

    def run(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def column(self, table: str, column: int) -> list[str]:
        """Return the texts of a column, visible rows only."""
        script = (
            f"return [...document.getElementById('{table}').tBodies[0].rows].filter((row) => !row.hidden)"
            f".map((row) => row.cells[{column}].textContent.trim())"
        )
        found: list[str] = self.run(script)
        return found


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a report with every kind of content: all verdicts at work, failures, a phone's worst tables."""
    folder = tmp_path_factory.mktemp("report")
    places = [condition(m, d, e, datasets=6) for m in ("linear", "anm", "nn") for d in (10, 20) for e in (1, 4)]
    perfect = experiment(places, ROWS, "perfect", "main")
    sachs = experiment([SACHS], ROWS, "sachs", "sachs")
    made = []
    for shown in (perfect, sachs):
        for place in shown.conditions:
            for number, by in enumerate(ROWS):
                values: dict[str, list[float | None]] = {
                    name: [100.0 + 9 * number + 7 * index for index in range(place.datasets)] for name in METRICS
                }
                fixed = "alpha=0.001, test=gauss" if by.name == "igsp-gauss" else ""
                made += metric_rows(shown, place, by, values, hyperparameters=fixed)
                if by.name == "igsp-gauss":
                    for alpha in ("0.001", "0.01", "0.2"):
                        made += metric_rows(shown, place, by, values, "grid", f"alpha={alpha}, test=gauss")
    costs = [*cost_rows(perfect), *cost_rows(sachs)]
    for number in range(90):
        costs[number] |= {"status": "timeout", "reason": f"it ran for {number + 100} s; the limit is 100 s"}
    return write_page(write_results(folder, [perfect, sachs], costs, metric_frame(made)), folder)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(BROWSER)
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    try:
        yield started
    finally:
        started.quit()


def take_log(driver: webdriver.Chrome, kind: str) -> list[dict[str, Any]]:
    """Return what the browser logged since the last time."""
    entries: list[dict[str, Any]] = driver.execute("getLog", {"type": kind})["value"]
    return entries


@pytest.fixture
def page(driver: webdriver.Chrome, path: Path) -> Iterator[Page]:
    """Return the page; whatever a test does with it, the console stays empty and nothing is asked of the network."""
    for log in ("browser", "performance"):
        take_log(driver, log)
    opened = Page(driver, path)
    opened.open()
    yield opened
    assert take_log(driver, "browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in take_log(driver, "performance")]
    asked = [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]
    assert any(url.startswith(path.as_uri()) for url in asked)
    assert [url for url in asked if not url.startswith((path.as_uri(), "data:image/webp", "about:"))] == []


def test_a_click_or_a_key_sorts_a_table(page: Page) -> None:
    table, shd = "rows-perfect-linear-1", 2
    before = page.column(table, 0)
    button = page.one(f"#{table} thead tr:last-child th:nth-child({shd + 1}) button")
    header = page.one(f"#{table} thead tr:last-child th:nth-child({shd + 1})")
    button.click()
    assert header.get_attribute("aria-sort") == "ascending"
    button.send_keys(Keys.ENTER)
    assert header.get_attribute("aria-sort") == "descending"
    assert page.column(table, 0) == before[::-1]
    page.one(f"#{table} thead tr:last-child th:first-child button").click()
    assert header.get_attribute("aria-sort") == "none"
    assert page.column(table, 0) == sorted(before)


def test_sorting_is_by_number_and_leaves_what_is_missing_last(page: Page) -> None:
    page.one("#comparison-rows summary").click()
    button = page.one("#comparison-table th:nth-child(9) button")
    for sign in (1, -1):
        button.click()
        errors = page.column("comparison-table", 8)
        numbers = [float(text) for text in errors if text != "–"]
        assert numbers == sorted(numbers, key=lambda number: sign * number)
        assert errors[len(numbers) :] == ["–"] * (len(errors) - len(numbers))
        assert len(numbers) > 2
        assert "–" in errors


def test_text_and_verdict_filter_rows_together(page: Page) -> None:
    page.one("#comparison-rows summary").click()
    everything = len(page.column("comparison-table", 0))
    page.one("#comparison-rows input").send_keys("gies LINEAR")
    found = list(zip(page.column("comparison-table", 1), page.column("comparison-table", 4), strict=True))
    assert found
    assert set(found) == {("linear", "GIES")}
    assert page.one("#comparison-rows output").text == f"{len(found)} of {everything} rows"
    Select(page.one("#comparison-rows select")).select_by_visible_text("differs")
    assert page.column("comparison-table", 0) == []
    page.one("#comparison-rows input").clear()
    assert set(page.column("comparison-table", 9)) == {"differs"}


def test_a_verdict_of_the_overview_leads_to_its_rows(page: Page) -> None:
    details = page.one("#comparison-rows")
    assert not details.get_property("open")
    page.one("a[data-verdict=worse]").click()
    assert details.get_property("open")
    assert set(page.column("comparison-table", 9)) == {"worse"}
    # A tile leads to its own row, even when the filter hides it.
    hidden = page.run(
        "return [...document.getElementById('comparison-table').tBodies[0].rows].find((row) => row.hidden).id"
    )
    page.run(f"location.hash = '{hidden}'")
    assert page.run(f"return !document.getElementById('{hidden}').hidden")


def test_a_link_opens_what_is_folded(page: Page) -> None:
    tile = page.one(".map td a")
    anchor = str(tile.get_attribute("href")).split("#")[1]
    assert not page.one(f"#{anchor}").is_displayed()
    tile.click()
    assert page.one(f"#{anchor}").is_displayed()
    page.open(anchor=f"#{anchor}")
    assert page.one(f"#{anchor}").is_displayed()


def test_everything_unfolds_and_folds(page: Page) -> None:
    count = "return [document.querySelectorAll('details').length, document.querySelectorAll('details[open]').length]"
    for expected in (True, False):
        page.one("#unfold").click()
        total, opened = page.run(count)
        assert total > 5
        assert opened == (total if expected else 0)


def test_the_header_of_a_long_table_stays_in_sight(page: Page) -> None:
    page.one("#failures summary").click()
    top = (
        "const box = document.querySelector('#failure-table').parentNode; box.scrollTop = 300; return"
        " [box.scrollTop, box.querySelector('thead').getBoundingClientRect().top - box.getBoundingClientRect().top]"
    )
    scrolled, offset = page.run(top)
    assert scrolled > 100
    assert abs(offset) < 2


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_nothing_is_cut_off(page: Page, width: int) -> None:
    page.open(width)
    page.run("for (const details of document.querySelectorAll('details')) details.open = true")
    if width == PHONE:  # a desktop scrolls such a table
        long = "13.4 ± 11.2 (1 of 10 recorded)"
        page.run(f"for (const b of document.querySelectorAll('.results td b')) b.textContent = '{long}'")
    assert page.run("return document.documentElement.scrollWidth") == width
    wide = page.run(
        "return [...document.querySelectorAll('.scroll, .map')].filter((box) => box.scrollWidth > box.clientWidth)"
        ".map((box) => box.getAttribute('aria-label'))"
    )
    assert wide == []
    outside = page.run(
        "return [...document.querySelectorAll('main em')].filter((verdict) => {"
        "const box = verdict.getBoundingClientRect(), cell = verdict.parentNode.getBoundingClientRect();"
        "return box.width === 0 || box.left < cell.left - 1 || box.right > Math.min(cell.right, innerWidth) + 1;"
        "}).map((verdict) => verdict.textContent)"
    )
    assert outside == []
    assert page.run("return document.querySelectorAll('main em').length") > 50


def test_a_phone_shows_rows_as_cards_that_name_their_columns(page: Page) -> None:
    page.open(PHONE)
    selector = "#rows-perfect-linear-1 tbody td:nth-child(3)"
    label = page.run(f"return getComputedStyle(document.querySelector('{selector}'), '::before').content")
    assert label == '"10 nodes, e = 1, SHD"'
    assert page.one(selector).aria_role == "cell"
    assert page.one("#rows-perfect-linear-1").aria_role == "table"


def test_dark_follows_the_system_and_the_button(page: Page) -> None:
    background = "return getComputedStyle(document.body).backgroundColor"
    light = page.run(background)
    assert light == "rgb(255, 255, 255)"
    page.open(scheme="dark")
    dark = page.run(background)
    assert dark != light
    page.one("#theme").click()
    assert page.run(background) == light
    page.one("#theme").click()
    assert page.run(background) == dark


def test_controls_have_names_and_the_first_tab_skips_to_the_content(page: Page) -> None:
    page.one("body").send_keys(Keys.TAB)
    assert page.run("return document.activeElement.getAttribute('href')") == "#main"
    page.run("for (const details of document.querySelectorAll('details')) details.open = true")
    for selector in ("input", "select", "main th button", ".map td a", "[role=region]"):
        for element in page.driver.find_elements(By.CSS_SELECTOR, selector)[:20]:
            assert element.accessible_name.strip(), element.get_attribute("outerHTML")
