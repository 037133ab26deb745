"""Now `hardwon.training.functions`."""

from hardwon.training.functions import *  # noqa: F403  # whatever it has
