"""The words of each language that tell nothing, and words that mean the same to whoever asks for
something to be done, as `words.txt` has them.
"""

from __future__ import annotations

from typing import Final

from hardwon.text.tables import list_entries, read_parts

_PARTS: Final = read_parts(__name__, "words.txt")
WORDS: Final = dict(list_entries(_PARTS["stop words"], " "))
# A line for each meaning.
SAME_MEANING: Final = [line for line, _ in list_entries(_PARTS["same meaning"])]
