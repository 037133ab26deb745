"""With this folder's parent on the path (PYTHONPATH=drop_in), `from training.memory import …` is
Hardwon's. Where a folder of the script's own holds a `training`, that one is found first: there
`hardwon drop-in install` puts a module like this in its place.
"""

import sys

from hardwon.training import functions

sys.modules[__name__] = functions
