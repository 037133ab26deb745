"""How PostgreSQL words the statements that engines share, and how it is told what to search for."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from hardwon.search.rank import MARKS
from hardwon.store.types import Dialect, Session, Values

# before a term in the index, by how often a text has it: once, twice, three times, more; no term
# has this sign in it
TIMES: Final = ("", "=", "==", "===")
MOST: Final = TIMES[-1]


# Several `*` say no more than one, and take longer. A bracket that comes first in a class is one of
# its characters, and begins no range.
_GLOB: Final = re.compile(
    r"(?P<any>\*+)|\[(?P<other>\^?+)(?P<first>\]?+)(?P<rest>[^]]*)\]|.", re.DOTALL
)


def _in_regular_expression(part: re.Match[str]) -> str:
    """A class that is never closed matches nothing."""
    sign = part[0]
    if part["rest"] is None:
        literal = re.escape(sign) if sign.isascii() else sign
        return ".*" if part["any"] else {"?": ".", "[": "(?!)"}.get(sign, literal)
    inner = ""
    for char in [*part["first"], *re.findall(r".-.|.", part["rest"], re.DOTALL)]:
        # one that runs backwards is its first character alone
        ends = char[0] + char[-1] if char[0] < char[-1] else char[0]
        inner += "-".join(f"\\{sign}" if sign in "\\[]^-" else sign for sign in ends)
    return f"[{part['other']}{inner}]"


def write_json(value: Any) -> str:
    """As short as can be: many rows are one parameter, for arrays take the driver several times as
    long.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _insert_many(
    session: Session, table: str, columns: Sequence[str], rows: Iterable[Values], also: str
) -> None:
    kept = ", ".join(name for name in columns if name != "project_id")
    session.run(
        f"INSERT INTO {table} ({kept}) SELECT {kept} "
        f"FROM json_populate_recordset(NULL::{table}, ?1::json) {also}",
        (write_json([dict(zip(columns, row, strict=True)) for row in rows]),),
    )


def _make_fresh_tallies(session: Session) -> None:
    session.run("DROP TABLE IF EXISTS pg_temp.fresh")
    session.run("CREATE TEMP TABLE fresh (LIKE tally INCLUDING ALL) ON COMMIT DROP")


# Every project has a schema of its own, so that row numbers are those of one project.
POSTGRES: Final = Dialect(
    least="least",
    greatest="greatest",
    join="JOIN",
    forgotten="SELECT record_id FROM event WHERE kind = 'forgotten' AND record_id = ANY (?2)",
    glob_operator="~",
    names_entity=(
        "jsonb_path_exists(r.body::jsonb, '$.entities.*[*] ? (@ == $name)', "
        "jsonb_build_object('name', {}::text))"
    ),
    hint="".format,  # its planner knows how many rows there are
    within="{} = ANY ({})".format,
    gather="coalesce(json_agg({} ORDER BY {}), '[]')::text".format,
    event_says="{}.said_{}".format,
    experience_says="r.body::json ->> {}".format,
    body_says=lambda *names: f"r.body::json #>> '{{{{{','.join(names)}}}}}'",
    list_values=list,
    glob=lambda pattern: f"^(?:{_GLOB.sub(_in_regular_expression, pattern)})$",
    make_fresh_tallies=_make_fresh_tallies,
    insert_many=_insert_many,
)


# --- terms ---


def text_columns(terms: str) -> dict[str, Any]:
    """What is kept of a text, beside the number of its record and whether somebody vouches for it.
    `often` are the terms that it has more than once, as they are indexed.
    """
    words = terms.split()
    repeated = ((term, times) for term, times in Counter(words).items() if times > 1)
    often = [TIMES[min(times, len(TIMES)) - 1] + term for term, times in repeated]
    return {"terms": terms, "often": " ".join(often), "length": len(words) + MARKS}
