"""Put this folder on the path (PYTHONPATH=drop_in) and `from memory import MemoryEngine` is
Hardwon's.
"""

from hardwon.tree.engine import IntakeWarning as IntakeWarning
from hardwon.tree.engine import MemoryEngine as MemoryEngine
from hardwon.tree.routing import Coherence as Coherence
