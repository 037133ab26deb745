"""Put this folder on the path (PYTHONPATH=drop_in) and `from coherence import Coherence` is
Hardwon's.
"""

from hardwon.tree.routing import Coherence as Coherence
