"""Put this folder on the path (PYTHONPATH=drop_in) and `from memory import MemoryEngine` is Hardwon's."""

from hardwon.doors.btb import IntakeWarning as IntakeWarning
from hardwon.doors.btb import MemoryEngine as MemoryEngine
from hardwon.routing import Coherence as Coherence
