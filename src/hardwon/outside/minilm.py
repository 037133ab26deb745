"""all-MiniLM-L6-v2, computed with NumPy: six layers of a small BERT, whose weights come inside a
package. No torch, nothing downloaded, no threads of its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from hardwon import limits


class MiniLm:
    """The model in a folder: its weights, its tokenizer and its sizes. Safe to share between
    threads.
    """

    def __init__(self, folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        self.dimension: int = config["hidden_size"]
        self._layers: int = config["num_hidden_layers"]
        self._heads: int = config["num_attention_heads"]
        self._epsilon: float = config["layer_norm_eps"]
        # The position ids are whole numbers that only torch needs.
        self._weights: dict[str, Any] = {
            name: weight.astype("float32") if weight.dtype.kind == "f" else weight
            for name, weight in load_file(folder / "model.safetensors").items()
        }
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(limits.MINILM_TOKENS_MAX)
        self._tokenizer.no_padding()

    def embed(self, texts: Sequence[str]) -> Any:
        """A vector for each text. Texts of about the same length are computed together: padding
        costs as much as words.
        """
        encoded = [each.ids for each in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(encoded)), key=lambda place: len(encoded[place]))
        vectors = np.zeros((len(encoded), self.dimension), dtype=np.float32)
        for start in range(0, len(order), limits.EMBED_MODEL_TEXTS):
            places = order[start : start + limits.EMBED_MODEL_TEXTS]
            longest = max(len(encoded[place]) for place in places)
            ids = np.zeros((len(places), longest), dtype=np.int64)
            known = np.zeros((len(places), longest), dtype=np.float32)
            for row, place in enumerate(places):
                ids[row, : len(encoded[place])] = encoded[place]
                known[row, : len(encoded[place])] = 1
            vectors[places] = self._compute(ids, known)
        return vectors

    def _compute(self, ids: Any, known: Any) -> Any:
        """The mean of what the last layer says of the tokens that are `known`, and not padding."""
        count, length = ids.shape
        weights, size = self._weights, self.dimension // self._heads
        state = (
            weights["embeddings.word_embeddings.weight"][ids]
            + weights["embeddings.position_embeddings.weight"][:length]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        state = self._normalise(state, "embeddings.LayerNorm")
        hidden = (1 - known)[:, None, None, :] * np.float32(-1e9)
        for layer in range(self._layers):
            place = f"encoder.layer.{layer}"

            def split(part: str, place: str = place, state: Any = state) -> Any:
                whole = self._apply(state, f"{place}.attention.self.{part}")
                return whole.reshape(count, length, self._heads, size).transpose(0, 2, 1, 3)

            query, key, value = split("query"), split("key"), split("value")
            scores = query @ key.transpose(0, 1, 3, 2) / np.float32(size**0.5) + hidden
            scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
            scores /= scores.sum(axis=-1, keepdims=True)
            seen = (scores @ value).transpose(0, 2, 1, 3).reshape(count, length, self.dimension)
            seen = self._apply(seen, f"{place}.attention.output.dense")
            state = self._normalise(state + seen, f"{place}.attention.output.LayerNorm")
            inner = _gelu(self._apply(state, f"{place}.intermediate.dense"))
            inner = self._apply(inner, f"{place}.output.dense")
            state = self._normalise(state + inner, f"{place}.output.LayerNorm")
        return (state * known[:, :, None]).sum(axis=1) / known.sum(axis=1, keepdims=True)

    def _apply(self, state: Any, name: str) -> Any:
        return state @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normalise(self, state: Any, name: str) -> Any:
        state = state - state.mean(axis=-1, keepdims=True)
        spread = np.sqrt((state * state).mean(axis=-1, keepdims=True) + np.float32(self._epsilon))
        return state / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


def _gelu(state: Any) -> Any:
    """By the error function, to seven digits (Abramowitz and Stegun, 7.1.26)."""
    x = np.abs(state) * np.float32(0.7071067811865476)
    t = 1 / (1 + np.float32(0.3275911) * x)
    series = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    error = np.sign(state) * (1 - series * np.exp(-x * x))
    return (state * (1 + error) / 2).astype(np.float32)
