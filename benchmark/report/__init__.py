"""The report: one self-contained HTML file with every table and figure of a run."""

from benchmark.report.page import write_report

__all__ = ["write_report"]
