"use strict";
document.documentElement.classList.add("js");

const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));

// --- sorting: by the number that a cell begins with, or its text; what is missing last, equal rows keep their order
function sortKey(cell) {
  const text = cell.dataset.value ?? cell.textContent.trim();
  const number = /^[-+]?\d/.test(text) ? parseFloat(text) : NaN;
  return { text, number, missing: text === "" || text.startsWith("–") };
}

function compareKeys(a, b) {
  if (!Number.isNaN(a.number) && !Number.isNaN(b.number)) return a.number - b.number;
  if (!Number.isNaN(a.number)) return -1;
  if (!Number.isNaN(b.number)) return 1;
  return a.text.localeCompare(b.text);
}

function sortBy(header) {
  const descending = header.getAttribute("aria-sort") === "ascending";
  const column = Array.from(header.parentNode.cells).indexOf(header);
  for (const other of header.parentNode.cells) other.setAttribute("aria-sort", "none");
  header.setAttribute("aria-sort", descending ? "descending" : "ascending");
  for (const body of header.closest("table").tBodies) {
    const rows = Array.from(body.rows, (row) => ({ row, key: sortKey(row.cells[column]) }));
    rows.sort((a, b) => a.key.missing - b.key.missing || compareKeys(a.key, b.key) * (descending ? -1 : 1));
    body.append(...rows.map((entry) => entry.row));
  }
}

for (const button of all("th[aria-sort] button")) {
  button.addEventListener("click", () => sortBy(button.parentNode));
}

// --- filtering: every word of the text must occur in a row; a select asks for the exact text of one column
function applyFilters(paragraph) {
  const controls = all("input, select", paragraph);
  const body = document.getElementById(controls[0].dataset.table).tBodies[0];
  let shown = 0;
  for (const row of body.rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !controls.every((control) =>
      control.dataset.column
        ? !control.value || row.cells[control.dataset.column].textContent.trim() === control.value
        : control.value.toLowerCase().split(/\s+/).every((word) => text.includes(word)));
    shown += !row.hidden;
  }
  paragraph.querySelector("output").textContent = `${shown} of ${body.rows.length} rows`;
}

for (const paragraph of all(".filter")) {
  for (const event of ["input", "change"]) paragraph.addEventListener(event, () => applyFilters(paragraph));
}

// --- folding: links open what they lead to, and printing opens everything
function reveal(element) {
  if (!element) return;
  if (element.hidden) {
    const paragraph = element.closest("details").querySelector(".filter");
    for (const control of all("input, select", paragraph)) control.value = "";
    applyFilters(paragraph);
  }
  for (let at = element; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  element.scrollIntoView();
}

const target = () => document.getElementById(decodeURIComponent(location.hash.slice(1)));
addEventListener("hashchange", () => reveal(target()));
if (location.hash) reveal(target());

for (const link of all("a[data-verdict]")) {
  link.addEventListener("click", () => {
    const details = document.getElementById("comparison-rows");
    const select = details.querySelector("select");
    select.value = link.dataset.verdict;
    details.open = true;
    applyFilters(select.closest(".filter"));
  });
}

const unfold = document.getElementById("unfold");
unfold.addEventListener("click", () => {
  const open = unfold.textContent === "Unfold all";
  for (const details of all("details")) details.open = open;
  unfold.textContent = open ? "Fold all" : "Unfold all";
});
addEventListener("beforeprint", () => all("details").forEach((details) => { details.open = true; }));

// --- light and dark: as the system says, until the button is pressed
const theme = document.getElementById("theme");
const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};
const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
theme.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  nameTheme();
});
nameTheme();

// --- phones show rows as cards: each cell names its column; roles keep what the changed display takes away
for (const table of all("table.cards")) {
  const headers = Array.from(table.tHead.rows[table.tHead.rows.length - 1].cells);
  const labels = headers.map((header) => header.dataset.label ?? header.textContent.trim());
  table.setAttribute("role", "table");
  for (const row of table.tBodies[0].rows) {
    row.setAttribute("role", "row");
    Array.from(row.cells).forEach((cell, column) => {
      cell.dataset.label = labels[column];
      cell.setAttribute("role", cell.tagName === "TH" ? "rowheader" : "cell");
    });
  }
}
