"""What conforming would mend, found without conforming: for the report of `check`.

The changes are made up to the first round, and not examined again, which would take most of the
time. So no mark promises too much, and what becomes possible only behind another change has none.
"""

import logging
from dataclasses import replace

import onnx_ir as ir

from sonnx_ort.conforming.fixpoint import Examine, first_changes
from sonnx_ort.conforming.rounds import place_of
from sonnx_ort.obligations.examination import Examination
from sonnx_ort.obligations.report import Report
from sonnx_ort.profile.rule import Status

_logger = logging.getLogger("sonnx_ort")


def with_mendable(model: ir.Model, examination: Examination, examine: Examine) -> Report:
    """The report, which says of each violation what safe change would mend it.

    Nothing else in it changes. A preview that fails is left out, for a report needs none.

    Args:
        model: The canonical graph that was examined; it is edited, and of no use afterwards.
        examination: Its examination.
        examine: Examines it again.
    """
    report = examination.report
    if report.ok:
        return report
    try:
        made = first_changes(model, examination, examine)
    except Exception as error:  # noqa: BLE001 - what is violated is known without it
        _logger.debug("what can be fixed is unknown: %s", error)
        return report
    titles = {place_of(o): change.title for change in reversed(made) for o in change.mended}
    marked = (
        replace(o, mendable=titles[place_of(o)])
        if o.enforced and o.status is Status.VIOLATED and place_of(o) in titles
        else o
        for o in report.obligations
    )
    return replace(report, obligations=tuple(marked))
