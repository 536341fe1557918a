"""What each operator of a guard does, as terms; what is not in the table is not known."""

from collections.abc import Mapping
from types import MappingProxyType

from support.proofs.meanings.elementwise import ELEMENTWISE
from support.proofs.meanings.expansion import EXPANSION
from support.proofs.meanings.reductions import LINES, REDUCTIONS
from support.proofs.meanings.shapes import SHAPES
from support.proofs.meanings.vectors import VECTORS
from support.proofs.run import Meaning

MEANINGS: Mapping[str, Meaning] = MappingProxyType(
    {**ELEMENTWISE, **EXPANSION, **LINES, **REDUCTIONS, **SHAPES, **VECTORS}
)
"""By operator what it gives."""
