"""The forms in which a check is written down. A new one is one line here, and a file."""

import enum
from collections.abc import Callable, Mapping
from types import MappingProxyType

from sonnx_ort.analysis.checked_model import Check
from sonnx_ort.reporting.html_report import html_page
from sonnx_ort.reporting.json_report import json_report
from sonnx_ort.reporting.junit_report import junit_report
from sonnx_ort.reporting.sarif_report import sarif_report
from sonnx_ort.reporting.text_report import text_reports


class ReportFormat(enum.StrEnum):
    """How a check is written down."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
    HTML = "html"


WRITERS: Mapping[ReportFormat, Callable[[Check], str]] = MappingProxyType(
    {
        ReportFormat.TEXT: text_reports,
        ReportFormat.JSON: json_report,
        ReportFormat.SARIF: sarif_report,
        ReportFormat.JUNIT: junit_report,
        ReportFormat.HTML: html_page,
    }
)
"""What writes a check in each form; without a line break at the end."""
