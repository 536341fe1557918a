"""Contracts from samples: what a model's inputs were, written for a person to judge."""

from sonnx_ort.samples.proposing import propose_contract
from sonnx_ort.samples.writing import ProposedContract

__all__ = ["ProposedContract", "propose_contract"]
