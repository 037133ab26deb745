"""Now `hardwon.fixes.ai_memory`."""

from hardwon.fixes.ai_memory import *  # noqa: F403  # whatever it has
