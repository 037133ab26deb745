"""Now `hardwon.adapters.openai_agents`."""

from hardwon.adapters.openai_agents import *  # noqa: F403  # whatever it has
