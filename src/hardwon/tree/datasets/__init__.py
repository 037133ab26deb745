"""Data sets of memories: made up (`generate`), checked (`validate`) and stored (`load_dataset`)."""

from hardwon.tree.datasets.check import DatasetLoaded as DatasetLoaded
from hardwon.tree.datasets.check import Distribution as Distribution
from hardwon.tree.datasets.check import Fault as Fault
from hardwon.tree.datasets.check import Report as Report
from hardwon.tree.datasets.check import load_dataset as load_dataset
from hardwon.tree.datasets.check import validate as validate
from hardwon.tree.datasets.generate import SIZES as SIZES
from hardwon.tree.datasets.generate import generate as generate
