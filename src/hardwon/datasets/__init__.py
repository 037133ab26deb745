"""Data sets of memories: made up (`generate`), checked (`validate`) and stored (`load_dataset`)."""

from hardwon.datasets.generating import SIZES as SIZES
from hardwon.datasets.generating import generate as generate
from hardwon.datasets.loading import load_dataset as load_dataset
from hardwon.datasets.report import DatasetLoaded as DatasetLoaded
from hardwon.datasets.report import Distribution as Distribution
from hardwon.datasets.report import Fault as Fault
from hardwon.datasets.report import Report as Report
from hardwon.datasets.validating import validate as validate

__all__ = ["SIZES", "DatasetLoaded", "Distribution", "Fault", "Report", "generate", "load_dataset", "validate"]
