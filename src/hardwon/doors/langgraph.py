"""Now `hardwon.adapters.langgraph`."""

from hardwon.adapters.langgraph import *  # noqa: F403  # whatever it has
