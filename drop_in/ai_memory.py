"""With this folder on the path (PYTHONPATH=drop_in), `from ai_memory import AIMemory` is Hardwon's."""

from hardwon.doors import ai_memory

ai_memory.stand_in(__name__)
