"""The format of a memory's file, as `schema.sql` has it: the first of 1.0. Files of 0.x are refused,
and brought over by an export.
"""

from __future__ import annotations

from pkgutil import get_data
from typing import Final

APPLICATION_ID: Final = 0x48415244  # "HARD": tells our files from every other SQLite database
# In the table `state`, of no project.
FORMAT_NAME: Final = "format"
SCHEMA: Final = (get_data(__name__, "schema.sql") or b"").decode()
