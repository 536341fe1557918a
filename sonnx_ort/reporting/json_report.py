"""A check in our own JSON, whose schema is `docs/report.schema.json`."""

import json

from sonnx_ort.analysis.checked_model import Check, CheckedModel

FORMAT = "sonnx_ort.reports/1"
"""The name and version of the form of several reports; that of one is the report's own."""


def json_report(check: Check) -> str:
    """Write a check in JSON: the report of a model that is alone, or all under their names.

    Args:
        check: The check.
    """
    if check.alone and check.models[0].report is not None:
        return check.models[0].report.to_json()
    document = {"format": FORMAT, "models": [_model(model) for model in check.models]}
    return json.dumps(document, indent=2, ensure_ascii=False)


def _model(model: CheckedModel) -> dict[str, object]:
    if model.report is None:
        return {"name": model.name, "error": model.error}
    return {"name": model.name, "report": model.report.to_document()}
