"""Data sets of memories: made up (`generate`), checked (`validate`) and stored (`load_dataset`)."""

from hardwon.tree.datasets.check import (
    DatasetLoaded,
    Distribution,
    Fault,
    Report,
    load_dataset,
    validate,
)
from hardwon.tree.datasets.generate import SIZES, generate

__all__ = [
    "SIZES",
    "DatasetLoaded",
    "Distribution",
    "Fault",
    "Report",
    "generate",
    "load_dataset",
    "validate",
]
