"""Prose: is what answers a question among the first ten hits?

    python benchmarks/prose.py --data FOLDER [--who hardwon,fts5,porter] [--embedder wordllama]

The questions are those of frequently-asked-question lists, which Linux distributions ship as
packages: Perl's (`perlfaq1.pod` to `perlfaq9.pod`, of perl-doc), Python's (`faq/*.rst.txt`, of
python3-doc) and Git's (`gitfaq.txt`, of git-doc). FOLDER is any folder that has these files
somewhere below it. Nothing of them is in this project.

Every paragraph of every answer is a record, in order, under its list as the session; the headings,
which are the questions, are not recorded. A question is answered where a paragraph of its own
answer is among the ten hits; `first` is where the first hit is one; `mrr` the mean of 1 / place.
"""

from __future__ import annotations

import argparse
import re
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from hardwon import Experience, Memory, MiniLmEmbedder, WordLlamaEmbedder
from hardwon.outside.embedders import Embedder
from hardwon.text.terms import ENGLISH, stop_words

HITS = 10
EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "wordllama": WordLlamaEmbedder,
    "minilm": MiniLmEmbedder,
}
PARAGRAPH_CHARS_MIN = 40
PARAGRAPH_CHARS_MAX = 2_000


class Paragraph(NamedTuple):
    faq: str
    question: str
    text: str


Search = Callable[[str], list[int]]


def read_paragraphs(folder: Path) -> list[Paragraph]:
    """Of every list below the folder, in the order of their names."""
    readers = {
        "perlfaq[1-9].pod": _read_pod,
        "faq/*.rst.txt": _read_rst,
        "gitfaq.txt": _read_asciidoc,
    }
    found = [
        Paragraph(path.name.partition(".")[0], question, text)
        for pattern, read in readers.items()
        for path in sorted(folder.rglob(pattern))
        for question, answer in read(path.read_text(errors="replace"))
        for text in _cut(answer)
    ]
    return list(dict.fromkeys(found))


def _cut(answer: str) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", answer):
        text = " ".join(block.split())[:PARAGRAPH_CHARS_MAX]
        if len(text) >= PARAGRAPH_CHARS_MIN:
            yield text


def _read_pod(text: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^=head2 ", text, flags=re.MULTILINE)[1:]:
        heading, _, answer = part.partition("\n\n")
        answer = re.split(r"^=head1 ", answer, flags=re.MULTILINE)[0]
        marked = re.compile(r"[A-Z]<<*\s*([^<>]*?)\s*>>*")
        plain = re.sub(r"^=.*$|^X<.*$", "", marked.sub(r"\1", answer), flags=re.MULTILINE)
        yield marked.sub(r"\1", " ".join(heading.split())), plain


def _read_rst(text: str) -> Iterator[tuple[str, str]]:
    parts = re.split(r"^(\S.*)\n[-=~]{4,}\n", text, flags=re.MULTILINE)
    for heading, answer in zip(parts[1::2], parts[2::2], strict=True):
        if heading.rstrip().endswith("?"):
            yield (
                heading.replace("`", ""),
                re.sub(r"^\.\. .*$|[`*]", "", answer, flags=re.MULTILINE),
            )


def _read_asciidoc(text: str) -> Iterator[tuple[str, str]]:
    parts = re.split(r"^(\S.*)::\n", text, flags=re.MULTILINE)
    for heading, answer in zip(parts[1::2], parts[2::2], strict=True):
        answer = re.split(r"^\[\[", answer, flags=re.MULTILINE)[0].replace("\n+\n", "\n\n")
        yield heading.replace("`", ""), answer.replace("`", "")


def fts5(paragraphs: list[Paragraph], tokenizer: str) -> Search:
    """SQLite's own full-text search over the same paragraphs."""
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE VIRTUAL TABLE t USING fts5 (x, tokenize='{tokenizer}')")
    database.executemany(
        "INSERT INTO t (rowid, x) VALUES (?, ?)",
        [(number, each.text) for number, each in enumerate(paragraphs)],
    )

    def search(question: str) -> list[int]:
        words = re.findall(r"\w+", question.lower())
        asked = [word for word in words if word not in stop_words(ENGLISH)] or words
        match = " OR ".join(f'"{word}"' for word in asked)
        sql = f"SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT {HITS}"
        return [number for (number,) in database.execute(sql, (match,))]

    return search


def hardwon(paragraphs: list[Paragraph], embedder: str | None) -> Search:
    made_by = EMBEDDERS[embedder]() if embedder else None
    memory = Memory(tempfile.mkdtemp(prefix="prose-"), embedder=made_by)
    ids = memory.add_many(
        Experience.model_validate(
            {
                "content": each.text,
                "outcome": "learning",
                "insight_type": "pattern",
                "metadata": {"source": {"type": "user_interaction", "id": each.faq}},
            }
        )
        for each in paragraphs
    )
    if made_by:
        memory.care.wait_for_vectors()
    number = {record_id: place for place, record_id in enumerate(ids)}
    return lambda question: [number[hit.record.id] for hit in memory.recall(question, k=HITS)]


def score(search: Search, paragraphs: list[Paragraph]) -> dict[str, float]:
    questions = dict.fromkeys((each.faq, each.question) for each in paragraphs)
    found = first = reciprocal = 0.0
    began = time.perf_counter()
    for faq, question in questions:
        hits = search(question)
        places = [
            place
            for place, number in enumerate(hits, 1)
            if paragraphs[number][:2] == (faq, question)
        ]
        found += bool(places)
        first += places[:1] == [1]
        reciprocal += 1 / places[0] if places else 0
    took = time.perf_counter() - began
    count = len(questions)
    return {
        "questions": count,
        "found": found / count,
        "first": first / count,
        "mrr": reciprocal / count,
        "ms": 1000 * took / count,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a folder with the lists")
    parser.add_argument("--who", default="fts5,porter,hardwon", help="who answers (%(default)s)")
    parser.add_argument("--embedder", choices=EMBEDDERS, help="of Hardwon; without, text alone")
    asked = parser.parse_args()
    paragraphs = read_paragraphs(asked.data)
    if not paragraphs:
        parser.error(f"--data: no list of questions below {asked.data}")
    print(f"{len(paragraphs)} paragraphs")
    searches: dict[str, Callable[[], Search]] = {
        "fts5": lambda: fts5(paragraphs, "unicode61"),
        "porter": lambda: fts5(paragraphs, "porter unicode61"),
        "hardwon": lambda: hardwon(paragraphs, asked.embedder),
    }
    for who in asked.who.split(","):
        row = score(searches[who](), paragraphs)
        print(f"{who:10}" + "  ".join(f"{name} {value:.3f}" for name, value in row.items()))


if __name__ == "__main__":
    main()
