"""The templates by which operators outside the set are written, a file for each kind."""

from sonnx_ort.conforming.template import Template
from sonnx_ort.conforming.templates import (
    elementwise,
    indexing,
    learning,
    reductions,
    transforms,
)

TEMPLATES: dict[str, Template] = {
    template.operator: template
    for module in (elementwise, indexing, learning, reductions, transforms)
    for template in module.TEMPLATES
}
"""The templates by their operators."""
