"""The one model that every store with vectors gets: the small one inside the wordllama package,
which downloads nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DIMENSION = 256


class Wordings:
    def __init__(self) -> None:
        logging.basicConfig(
            level=logging.WARNING
        )  # before wordllama does it, at a level that makes others write a line a record
        import wordllama  # type: ignore[import-untyped, unused-ignore]  # here: it takes a few tenths of a second

        # Told its own folder, or it looks for its tokenizer elsewhere and wants to download it.
        folder = Path(wordllama.__file__).parent
        self._model: Any = wordllama.WordLlama.load(
            cache_dir=folder, dim=DIMENSION, disable_download=True
        )

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._model.embed(list(texts), norm=True).tolist()
        return vectors
