"""Data sets of memories: made up (`generate`), checked (`validate`) and stored (`load_dataset`)."""

from hardwon.tree.datasets.check import load_dataset as load_dataset
from hardwon.tree.datasets.check import validate as validate
from hardwon.tree.datasets.generate import SIZES as SIZES
from hardwon.tree.datasets.generate import generate as generate
from hardwon.tree.datasets.report import DatasetLoaded as DatasetLoaded
from hardwon.tree.datasets.report import Distribution as Distribution
from hardwon.tree.datasets.report import Fault as Fault
from hardwon.tree.datasets.report import Report as Report

__all__ = ["SIZES", "DatasetLoaded", "Distribution", "Fault", "Report", "generate", "load_dataset", "validate"]
