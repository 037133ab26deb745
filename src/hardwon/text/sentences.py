"""Whether a sentence can stand alone, and whether a fact says again what another says already. Nothing
inside quotes or code is looked at. Rather two records of one thing than one record of
two: what is taken for a repetition is not kept. No I/O.
"""

from __future__ import annotations

from datetime import UTC
from hashlib import blake2b
from typing import Final

from hardwon import limits
from hardwon.records.kinds import Fact
from hardwon.text.entities import read_part
from hardwon.text.tables import read_parts, read_patterns
from hardwon.text.terms import normalize

# How a finding begins that names a time which counts from the day on which it was said.
RELATIVE_DATE: Final = "relative date"

RE: Final = read_patterns(read_parts(__name__, "sentences.txt")["patterns"])


def lint(sentence: str) -> list[str]:
    """What keeps a sentence from standing alone, for its author to put right; nothing where it stands
    alone.
    """
    text = RE.quoted.sub(lambda quoted: "\u00a4" * len(quoted[0]), read_part(sentence))
    findings = []
    pronoun = RE.pronoun.match(text) or RE.pronoun_abroad.match(text)
    if pronoun and pronoun["word"] != "IT":  # those who run the machines
        findings.append(f'pronoun "{pronoun["word"]}": name what it stands for')
    times = [*RE.time.finditer(text), *RE.time_abroad.finditer(text)]
    findings += [f'{RELATIVE_DATE} "{time[0]}": say the date' for time in times]
    findings += [
        f'reference "{reference[0]}": say here what is said there'
        for reference in RE.reference.finditer(text)
    ]
    return findings[: limits.SCREEN_ITEMS]


_APOSTROPHES: Final = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")


def fact_key(fact: Fact) -> str:
    """Facts of one type have the same key if they say the same, and only then: but for white space, the
    shape of quotes, the capital letter that begins a sentence and the full stop that ends it.
    """
    words = normalize("NFC", fact.content).translate(_APOSTROPHES).rstrip(" \t\n.").split()
    if words and (len(words[0]) == 1 or words[0][1:].islower()):
        words[0] = words[0][0].lower() + words[0][1:]
    content = " ".join(words) or fact.content
    digest = blake2b(f"{fact.fact_type}\0{content}".encode(), digest_size=16)
    return f"fact:{digest.hexdigest()}"


def repeats(first: Fact, again: Fact) -> bool:
    """Whether `again` says what `first` says, and brings nothing: no related file, tag, failure or
    entity in its envelope that the first has not. What tells a time from the day on which it was
    said says something else on another day.
    """
    had, has = first.metadata, again.metadata
    days = {metadata.context.timestamp.astimezone(UTC).date() for metadata in (had, has)}
    files = {(file.path, file.hash) for file in had.context.related_files}
    return (
        fact_key(first) == fact_key(again)
        and set(has.tags) <= set(had.tags)
        and all((file.path, file.hash) in files for file in has.context.related_files)
        and has.validation.failure_hash in (None, had.validation.failure_hash)
        and all(
            set(new or ()) <= set(old or ())
            for (_, new), (_, old) in zip(again.entities, first.entities, strict=True)
        )
        and (
            len(days) == 1
            or not any(finding.startswith(RELATIVE_DATE) for finding in again.findings or ())
        )
    )
