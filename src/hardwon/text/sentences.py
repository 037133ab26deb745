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
from hardwon.text.tables import Patterns
from hardwon.text.terms import normalize

# How a finding begins that names a time which counts from the day on which it was said.
RELATIVE_DATE: Final = "relative date"

RE: Final = Patterns(
    {
        "quoted": [
            r"(?s)```.{0,10000}?```|`[^`\n]{0,1000}`|\"[^\"\n]{0,1000}\"|\u201c[^\u201d\n]{0,300}\u201d",
            r"|(?<!\w)'[^'\n]{0,300}'(?!\w)|(?<![\w-])--?\w[\w-]{0,40}[ =][^\s]{1,100}",
            r"|(?m:^(?: {4}|\t| {0,3}>)[^\n]*)",
        ],
        "count": r"(?:\d{1,4}|eleven|twelve|three|seven|eight|four|five|nine|one|two|six|ten|an|a)",
        "unit": "(?:minute|hour|day|week|month|year)",
        # what stands around a word of prose: no part of a path, of a name or of code
        "before": r"(?<![\w./\\@:=#$%&*+~<>\[{|_\u00a4-])",
        "after": r"(?![\w/\\@=#(\[{<>|\u00a4]|[.:-]\w|-|['\u2019](?!s\b)\w)",
        "time": [
            r"(?i){{before}}(?:(?P<day>the\sday\sbefore\syesterday|the\sday\safter\stomorrow",
            r"|(?:yesterday|tomorrow)(?:\s(?:morning|afternoon|evening|night))?|today|tonight",
            r"|this\s(?:morning|afternoon|evening)|last\snight)|(?P<number>{{count}})\s",
            r"(?P<unit>{{unit}})s?\sago|(?P<which>last|this|next)\s(?P<period>week|month|year|monday",
            r"|tuesday|wednesday|thursday|friday|saturday|sunday)(?!\sof\b)|(?P<vague>recently|lately",
            r"|the\sother\sday|(?:(?:some|a\slong)\stime|a\swhile|long|(?:a\sfew|a\scouple\sof",
            r"|several|some|many)\s{{unit}}s)\sago|soon)){{after}}",
        ],
        # Only at the beginning: later in a sentence there is hardly ever nothing that it stands for.
        "pronoun": [
            r"(?i)\s{0,20}(?:(?:but|and|so|also|then|note:|-)\s{1,3})?(?P<word>(?:he|she|they)(?=\s|['\u2019])",
            r"|it(?!(?:\s|['\u2019])(?:\w+\s){1,6}(?:to|that|whether|if|when)\b|\sis\s\w+ing\.)",
            r"(?=\s\w|['\u2019])|(?:this|that|these|those)(?=\s(?:is|was|are|were|will|would|can|could",
            r"|has|have|had|does|did|means?|causes?|fails?|works|breaks?|needs?|makes)\b|['\u2019]s\s)",
            r"|(?:its|their|his|her)(?=\s\w))",
        ],
        # The same in scripts that put no space behind a word, and in German and French.
        "time_abroad": [
            r"(?i)그저께|어제|오늘|내일|지난(?:주|달|해)|최근에?|방금|一昨日|昨日|今日|明日|先週|先月|去年|最近|さっき",
            r"|前天|昨天|今天|明天|上(?:周|週|个月|個月)|剛才|刚才|{{before}}(?:vorgestern|gestern|heute|letzte[ns]?\s",
            r"(?:Woche|Monat|Jahr)|avant-hier|hier|aujourd['\u2019]hui|demain|la\ssemaine\sdernière){{after}}",
        ],
        "pronoun_abroad": [
            r"\s{0,20}(?P<word>(?:그것|이것|저것|그녀|그들|이들)(?=[은는이가을를의도에]|\s)|(?:それ|これ|あれ|彼女|彼ら|彼)(?=[はがをもにの])",
            r"|(?:它们|他们|她们|它|他|她|这个|那个|這個|那個)(?=[^\W\d_]))",
        ],
        "reference": [
            r"(?i){{before}}(?:as\s(?:mentioned|described|discussed|noted|shown|explained|stated)\s",
            r"(?:above|before|earlier|below)|see\s(?:above|below)){{after}}",
        ],
    }
)


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
