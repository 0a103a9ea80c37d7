"""The positive half: what closes the gap, as constructions that run.

A fixed-state model cannot retrieve, whatever its weights; one layer of softmax attention on
top of it, or a call that searches the context, can. Every module here is such a construction
with its cost. Weights are set by hand, nothing is trained; the constructions are in the
spirit of Wen, Dang and Lyu (arXiv:2402.18510), their details are ours.
"""

from statebound.models.constructions.ledger import Ledger
from statebound.models.constructions.rounding import FORMATS, Arithmetic

__all__ = ["FORMATS", "Arithmetic", "Ledger"]
