"""Now `hardwon.tree.engine`."""

from hardwon.tree.engine import *  # noqa: F403  # whatever it has
