"""The general restrictions, which bind a whole graph rather than one operator."""

from sonnx_ort.profile.requirements.dense import Dense
from sonnx_ort.profile.rule import Rule, Source

GR1 = Rule(
    "GR1",
    2,
    "Sparse tensors are not supported.",
    Source("SONNX, general restrictions", "whole graph", "GR1"),
    Dense(),
)

GENERAL_RULES = (GR1,)
