"""What is in a PostgreSQL database of memories.

The schema `hardwon` has what projects share: `project` (which schema each has), `reachable` (what
of it the user who asks reaches), `token` and `migrated`. Every project has a schema of its own,
with tables and columns named as in SQLite (`store/sqlite/schema.sql`), and these differences:

project_id      is no column: a schema holds one project.
record          `extra` (keys of the caller's own) is a column, so that no body is parsed.
record_text     what a search reads of each text that has a term, in rows as short as can be.
event           what queries ask of its body has columns of its own.
term_count      how many records have a term, as of the last count; how many were counted is in
                `state`.
record_vector   `embedding` is there where the server has pgvector; `vector` is the same in bytes.
fix             what the views of fix history show of one fix each.

Who may do what is a matter of GRANT on whole tables and on functions, to the three roles of a
project. A writer changes no table: it calls functions that refuse what only a governor may say, and
count what follows from what was kept. It inserts a vector, the first embedder and the key of its
request, and no more. Texts compare byte by byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from hardwon import limits
from hardwon.learn.tallies import ANONYMOUS_SCOPES, KIND_OF_SCOPE, LEVELS, MILLIONTHS, SCORED_SCOPES
from hardwon.records.kinds import VIA_IMPORT, VOUCHED_STATUSES
from hardwon.store.base import adding_tallies

SCHEMA: Final = "hardwon"
OWNER: Final = "hardwon_owner"
# Who runs a server: reaches the tokens.
KEEPER: Final = "hardwon_keeper"

READER, WRITER, GOVERNOR = "reader", "writer", "governor"
# Each may do what those before it may, and more.
ACCESS: Final = (READER, WRITER, GOVERNOR)

# What a writer may say of a record. Everything else decides something, which takes a governor.
ORDINARY_EVENTS: Final = ("imported", "credited", "repeated")
# Records that stand for others, and teach what they say: brought by whoever governs.
STAND_INS: Final = ("adopted", "cleaned")

# What `state` has of the texts whose terms are counted.
TEXTS_COUNTED: Final = "texts whose terms are counted"
WORDS_COUNTED: Final = "words of those texts"
COUNTED_TO: Final = "number of the last of them"
COUNTS: Final = (TEXTS_COUNTED, WORDS_COUNTED, COUNTED_TO)

VIEWS: Final = ("fix_history", "issue_patterns", "model_characteristics")
_IN_EFFECT: Final = ", ".join(f"'{status}'" for status in VOUCHED_STATUSES)
# That somebody vouches for it.
VOUCHED: Final = f"status IN ({_IN_EFFECT})"


def _with_texts(sql: str) -> str:
    return sql.replace(" TEXT", ' text COLLATE "C"')


SHARED: Final = _with_texts(f"""
CREATE TABLE project (name TEXT PRIMARY KEY, schema TEXT NOT NULL UNIQUE, version integer NOT NULL);
CREATE VIEW reachable WITH (security_barrier = true) AS
SELECT p.name, p.schema, a.level FROM project p CROSS JOIN unnest(ARRAY{list(ACCESS)}) AS a (level)
WHERE pg_has_role(to_regrole(quote_ident(p.schema || '_' || a.level)), 'USAGE');
CREATE TABLE token (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    digest bytea NOT NULL,
    scope TEXT NOT NULL,
    projects TEXT,
    created_us bigint NOT NULL,
    expires_us bigint,
    revoked_us bigint
);
GRANT USAGE ON SCHEMA {SCHEMA} TO PUBLIC;
GRANT SELECT ON migrated, reachable TO PUBLIC;
GRANT SELECT, INSERT, UPDATE, DELETE ON token TO {KEEPER};
""")

# --- the schema of a project ---

RECORD: Final = {
    "id": "text",
    "kind": "text",
    "at_us": "bigint",
    "author": "text",
    "outcome": "text",
    "tool": "text",
    "task_id": "text",
    "model": "text",
    "issue_type": "text",
    "body": "text",
    "digest": "bytea",
    "status": "text",
    "validation": "text",
    "helped": "bigint",
    "hindered": "bigint",
    "extra": "jsonb",
}
FIX: Final = {
    "at": "text",
    "pattern": "text",
    "signature": "text",
    "model": "text",
    "issue_type": "text",
    "strategy": "text",
    "level": "smallint",
    "did": "text",
    "told": "text",
    "shown": "boolean",
    "description": "text",
    "fixer_type": "text",
    "claude_analysis": "text",
    "fix_commands": "text",
    "fix_success": "boolean",
    "verification_success": "boolean",
    "execution_time_seconds": "double precision",
    "system_info": "text",
    "notes": "text",
}
EVENT: Final = {
    "id": "text",
    "record_id": "text",
    "kind": "text",
    "at_us": "bigint",
    "body": "text",
    "said_by": "text",
    "said_status": "text",
    "said_replaced_by": "text",
    "said_undoes": "text",
}
# What is kept of a record beside its row, its vector and its events.
DERIVED_TABLES: Final = ("record_text", "record_tag", "record_file", "record_key", "fix")

PROJECT_TABLES: Final = (
    "record",
    *DERIVED_TABLES,
    "record_vector",
    "event",
    "tally",
    "state",
    "request",
    "embedder",
    "term_count",
)

_TABLES: Final = _with_texts(f"""
CREATE TABLE record (
    seq bigint GENERATED BY DEFAULT AS IDENTITY,
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    at_us bigint NOT NULL,
    author TEXT NOT NULL,
    outcome TEXT,
    tool TEXT,
    task_id TEXT,
    model TEXT,
    issue_type TEXT,
    body TEXT NOT NULL,
    digest bytea NOT NULL,
    status TEXT NOT NULL,
    validation TEXT,
    helped bigint NOT NULL DEFAULT 0,
    hindered bigint NOT NULL DEFAULT 0,
    extra jsonb
);
CREATE UNIQUE INDEX record_by_seq ON record (seq);
CREATE INDEX record_by_time ON record (at_us, id);
CREATE INDEX record_by_task ON record (task_id, at_us, id) WHERE task_id IS NOT NULL;
CREATE INDEX record_by_issue ON record (model, issue_type, at_us, id) WHERE model IS NOT NULL;
CREATE INDEX record_decision ON record (outcome, at_us, id) WHERE kind = 'decision';
CREATE INDEX record_counted ON record (kind, outcome, tool, status, author, at_us);
CREATE INDEX record_by_author ON record (author);
CREATE INDEX record_vouched ON record (seq) WHERE {VOUCHED};
CREATE INDEX record_helped ON record (status, helped, at_us, id) WHERE helped > 0;

-- A search reads the row of each text that has a term, and of the texts themselves only a few. So
-- rows are short: texts are kept aside, which the server does where a row is longer than 2 KiB. The
-- ballast makes it so, and is compressed to a few bytes then.
CREATE TABLE record_text (
    seq bigint PRIMARY KEY,
    length integer NOT NULL,
    vouched boolean NOT NULL,
    terms TEXT NOT NULL,
    often TEXT NOT NULL,
    ballast text GENERATED ALWAYS AS (repeat(' ', 2048)) STORED
) WITH (toast_tuple_target = 128);
ALTER TABLE record_text ALTER terms SET STORAGE EXTERNAL, ALTER often SET STORAGE EXTERNAL,
    ALTER ballast SET STORAGE MAIN;
-- What is indexed of a text: each term once, with a sign where the text has it more than once. It
-- takes tens of microseconds, and is said to cost so much that every plan goes by the index, however
-- few texts there are: else each is taken apart again for every word of a question. Its own path
-- keeps it from being dissolved into what it calls, which is said to cost nothing.
CREATE FUNCTION words(terms text, often text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 10000 SET search_path = pg_catalog
RETURN ts_delete(
    array_to_tsvector(array_remove(string_to_array(translate(terms, E'\\n', ' '), ' '), '')),
    string_to_array(replace(often, '=', ''), ' ')
) || array_to_tsvector(string_to_array(often, ' '));
CREATE INDEX record_text_by_term ON record_text USING gin (words(terms, often))
    WITH (gin_pending_list_limit = {limits.TERMS_PENDING_KIB});
-- Nobody asks how often a word occurs here: `term_count` knows.
ALTER INDEX record_text_by_term ALTER COLUMN 1 SET STATISTICS 0;
CREATE FUNCTION follow_status() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE record_text SET vouched = NEW.{VOUCHED} WHERE seq = NEW.seq;
    RETURN NULL;
END $$;
CREATE TRIGGER follow_status AFTER UPDATE OF status ON record
    FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION follow_status();
CREATE TABLE term_count (
    term TEXT PRIMARY KEY, documents bigint NOT NULL
) WITH (fillfactor = 80);

CREATE TABLE record_tag (seq bigint NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (seq, tag));
CREATE INDEX record_tag_by_tag ON record_tag (tag, seq);
-- A path may be longer than an entry of an index.
CREATE TABLE record_file (
    seq bigint NOT NULL, number integer NOT NULL, path TEXT NOT NULL, PRIMARY KEY (seq, number)
);
CREATE TABLE record_key (seq bigint NOT NULL, key TEXT NOT NULL, PRIMARY KEY (seq, key));
CREATE INDEX record_key_by_key ON record_key (key, seq);

CREATE TABLE record_vector (
    seq bigint PRIMARY KEY, vector bytea NOT NULL, dimension bigint NOT NULL
);
CREATE TABLE embedder (
    one boolean PRIMARY KEY DEFAULT true CHECK (one), name TEXT NOT NULL, dimension bigint NOT NULL
);

CREATE TABLE event (
    id TEXT PRIMARY KEY,
    record_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    at_us bigint NOT NULL,
    body TEXT NOT NULL,
    said_by TEXT NOT NULL,
    said_status TEXT,
    said_replaced_by TEXT,
    said_undoes TEXT,
    login TEXT NOT NULL DEFAULT session_user
);
CREATE INDEX event_by_record ON event (record_id, at_us, id);
CREATE INDEX event_by_time ON event (at_us, id);
CREATE INDEX event_forgotten ON event (record_id) WHERE kind = 'forgotten';
CREATE INDEX event_stale ON event (at_us, id) WHERE kind = 'stale';
CREATE INDEX event_replacing ON event (said_replaced_by) WHERE said_replaced_by IS NOT NULL;

CREATE TABLE tally (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    item TEXT NOT NULL,
    day bigint NOT NULL,
    author TEXT NOT NULL,
    vouched bigint NOT NULL,
    total bigint NOT NULL,
    best bigint NOT NULL,
    last_us bigint NOT NULL,
    last_id TEXT NOT NULL,
    {", ".join(f"level{level} bigint NOT NULL" for level in range(LEVELS))},
    PRIMARY KEY (scope, key, item, day, author)
) WITH (fillfactor = 80);
CREATE INDEX tally_vouched ON tally (scope, item) WHERE scope IN ('works', 'avoid') AND vouched > 0;

CREATE TABLE state (name TEXT PRIMARY KEY, value bigint NOT NULL);
CREATE TABLE request (
    key bytea PRIMARY KEY, said bytea NOT NULL, ids TEXT NOT NULL, at_us bigint NOT NULL
);
CREATE INDEX request_at ON request (at_us);

CREATE TABLE fix (
    seq bigint PRIMARY KEY,
    at TEXT NOT NULL,
    pattern TEXT NOT NULL,
    signature TEXT NOT NULL,
    model TEXT NOT NULL,
    issue_type TEXT NOT NULL,
    strategy TEXT NOT NULL,
    level smallint NOT NULL,
    did TEXT,
    told TEXT,
    shown boolean NOT NULL,
    description TEXT,
    fixer_type TEXT,
    claude_analysis TEXT,
    fix_commands TEXT,
    fix_success boolean,
    verification_success boolean,
    execution_time_seconds double precision,
    system_info TEXT,
    notes TEXT
);
CREATE INDEX fix_by_pattern ON fix (pattern, strategy);
CREATE INDEX fix_by_model ON fix (model, strategy);
CREATE INDEX fix_by_strategy ON fix (strategy, seq);
""")

_COUNTING: Final = f"""fix f JOIN record r ON r.seq = f.seq
    WHERE r.status <> 'archived' AND NOT EXISTS (
        SELECT 1 FROM record_key k JOIN record d ON d.seq = k.seq
        WHERE k.key = 'rollback:' || r.author AND d.kind = 'decision' AND d.status IN ({_IN_EFFECT})
    )"""

_VIEWS: Final = f"""
CREATE VIEW fix_history AS
SELECT f.seq AS id, f.at AS timestamp, f.model AS model_name, f.issue_type,
    f.signature AS issue_signature, f.description, f.fixer_type, f.claude_analysis, f.fix_commands,
    f.fix_success, f.verification_success, f.execution_time_seconds, f.system_info, f.notes
FROM {_COUNTING} AND f.shown;

CREATE VIEW issue_patterns AS
WITH counting AS (SELECT f.* FROM {_COUNTING}),
worked AS (
    SELECT pattern, strategy, count(*) AS attempts, count(*) FILTER (WHERE level = 2) AS verified
    FROM counting WHERE strategy <> ''
    GROUP BY pattern, strategy HAVING count(*) FILTER (WHERE level = 2) > 0
),
best AS (
    SELECT DISTINCT ON (w.pattern) w.pattern,
        (d.did::jsonb || jsonb_build_object('verified', w.verified))::text AS best_fix
    FROM worked w CROSS JOIN LATERAL (
        SELECT c.did FROM counting c WHERE c.strategy = w.strategy AND c.did IS NOT NULL
        ORDER BY c.seq DESC LIMIT 1
    ) d
    ORDER BY w.pattern, w.verified DESC, w.attempts, w.strategy
)
SELECT min(c.seq) AS id, c.pattern AS pattern_name, max(c.signature) AS issue_signature,
    count(*) FILTER (WHERE c.level = 2) AS success_count,
    count(*) FILTER (WHERE c.level < 2) AS failure_count,
    max(b.best_fix) AS best_fix, max(c.at) AS last_seen,
    least(1.0, count(*) / 10.0)::float8 AS confidence_score
FROM counting c LEFT JOIN best b ON b.pattern = c.pattern
GROUP BY c.pattern;

CREATE VIEW model_characteristics AS
WITH counting AS (SELECT f.* FROM {_COUNTING}),
issues AS (
    SELECT model, issue_type,
        row_number() OVER (PARTITION BY model ORDER BY count(*) DESC, issue_type) AS place
    FROM counting GROUP BY model, issue_type
),
worked AS (
    SELECT model, strategy, row_number() OVER (
            PARTITION BY model
            ORDER BY count(*) FILTER (WHERE level = 2) DESC, count(*), strategy
        ) AS place
    FROM counting WHERE strategy <> ''
    GROUP BY model, strategy HAVING count(*) FILTER (WHERE level = 2) > 0
),
fixes AS (
    SELECT w.model, d.told, w.place FROM worked w CROSS JOIN LATERAL (
        SELECT c.told FROM counting c WHERE c.strategy = w.strategy AND c.did IS NOT NULL
        ORDER BY c.seq DESC LIMIT 1
    ) d
    WHERE w.place <= {limits.FIXES_LISTED_MAX} AND d.told <> ''
)
SELECT c.model AS model_name, count(*) AS total_tests,
    (count(*) FILTER (WHERE c.level = 2))::float8 / count(*) AS success_rate,
    (SELECT jsonb_agg(i.issue_type ORDER BY i.place)::text FROM issues i
        WHERE i.model = c.model AND i.place <= {limits.FIXES_LISTED_MAX}) AS common_issues,
    coalesce((SELECT jsonb_agg(x.told ORDER BY x.place)::text FROM fixes x
        WHERE x.model = c.model), '[]') AS effective_fixes,
    max(c.at) AS last_updated,
    count(*) FILTER (WHERE c.level >= 1) || ' of ' || count(*) || ' fixes were applied, '
        || count(*) FILTER (WHERE c.level = 2) || ' of them verified' AS performance_notes
FROM counting c GROUP BY c.model;
"""

# --- statements that are also functions ---


def columns_of(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


# As they come in JSON, with what is derived of each record. Its `lessons` are lists: scope, key,
# item, level, value.
_GIVEN: Final = columns_of(
    RECORD
    | {"digest": "text", "extra": "text", "terms": "text", "often": "text", "length": "integer"}
    | {"tags": "text[]", "files": "text[]", "keys": "text[]", "fix": "json", "lessons": "json"}
)
_DERIVED: Final = f"""
texts AS (
    INSERT INTO record_text (seq, length, vouched, terms, often)
    SELECT g.seq, g.length, g.{VOUCHED}, g.terms, g.often FROM added JOIN given g USING (seq)
), tags AS (
    INSERT INTO record_tag (seq, tag)
    SELECT g.seq, t.tag FROM added JOIN given g USING (seq), unnest(g.tags) AS t (tag)
), files AS (
    INSERT INTO record_file (seq, number, path) SELECT g.seq, f.number, f.path
    FROM added JOIN given g USING (seq), unnest(g.files) WITH ORDINALITY AS f (path, number)
), keys AS (
    INSERT INTO record_key (seq, key)
    SELECT g.seq, k.key FROM added JOIN given g USING (seq), unnest(g.keys) AS k (key)
), fixes AS (
    INSERT INTO fix (seq, {", ".join(FIX)}) SELECT g.seq, f.*
    FROM added JOIN given g USING (seq), json_to_record(g.fix) AS f ({columns_of(FIX)})
    WHERE g.fix IS NOT NULL
)"""
_LEVELS: Final = [f"level{level}" for level in range(LEVELS)]


def _quote_each(texts: Iterable[str]) -> str:
    return ", ".join(f"'{text}'" for text in texts)


# What hypotheses teach, added up as `learn.tallies.sum_counts` does: each lesson of a record once, in
# the order of the table, as everybody does it who appends.
_TAUGHT: Final = f"""
lesson AS (
    SELECT DISTINCT l.value ->> 0 AS scope, l.value ->> 1 AS key, l.value ->> 2 AS item,
        floor(g.at_us::numeric / {limits.DAY_US})::bigint AS day, g.author, g.at_us, g.id,
        CAST(l.value ->> 3 AS bigint) AS level, CAST(l.value ->> 4 AS bigint) AS worth
    FROM added JOIN given g USING (seq), json_array_elements(g.lessons) l
    WHERE g.status = 'hypothesis'
), taught AS (
    INSERT INTO tally (scope, key, item, day, author, vouched, total, best, last_us, last_id,
        {", ".join(_LEVELS)})
    SELECT scope, key, item, day, author, 0, sum(worth), max(worth),
        CASE WHEN scope IN ({_quote_each(sorted(ANONYMOUS_SCOPES))}) THEN 0 ELSE max(at_us) END,
        CASE WHEN scope IN ({_quote_each(sorted(ANONYMOUS_SCOPES))}) THEN ''
            ELSE (array_agg(id ORDER BY at_us DESC, id COLLATE "C" DESC))[1] END,
        {", ".join(f"count(*) FILTER (WHERE level = {level})" for level in range(LEVELS))}
    FROM lesson GROUP BY scope, key, item, day, author
    ORDER BY scope COLLATE "C", key COLLATE "C", item COLLATE "C", day, author COLLATE "C"
    {adding_tallies("tally", "greatest").replace("project_id, ", "")}
)"""


def add_records(rows: str, also: str = "") -> str:
    """Inserts the records that are not there yet and were not forgotten. Numbers are given out in
    the order in which the rows came; rows are inserted in the order of their ids.
    """
    columns = ", ".join(RECORD)
    values = columns.replace("digest", "decode(digest, 'hex')").replace("extra", "extra::jsonb")
    return f"""
WITH given AS MATERIALIZED (
    SELECT nextval('record_seq_seq') AS seq, u.* FROM json_to_recordset({rows}) AS u ({_GIVEN})
), added AS (
    INSERT INTO record (seq, {columns}) SELECT seq, {values} FROM given g
    WHERE NOT EXISTS (SELECT 1 FROM event e WHERE e.record_id = g.id AND e.kind = 'forgotten')
    ORDER BY id COLLATE "C", seq ON CONFLICT (id) DO NOTHING RETURNING id, seq
), {_DERIVED}{also}
SELECT id, seq FROM added"""


def derive_again(rows: str, seq: str) -> str:
    """Inserts what is derived of a record that is there, under this number."""
    return f"""
WITH given AS MATERIALIZED (
    SELECT CAST({seq} AS bigint) AS seq, u.* FROM json_to_recordset({rows}) AS u ({_GIVEN})
), added AS (SELECT id, seq FROM given), {_DERIVED}
SELECT id, seq FROM added"""


def events_in(rows: str) -> str:
    """Events as they come in JSON."""
    return f"json_to_recordset({rows}) AS u ({columns_of(EVENT)})"


def add_events(given: str, also: str = "true") -> str:
    """Inserts the events that are not there yet; of a record that was forgotten, only that."""
    return f"""
INSERT INTO event ({", ".join(EVENT)}) SELECT {", ".join(f"u.{name}" for name in EVENT)} FROM {given}
WHERE (u.kind = 'forgotten' OR NOT EXISTS (
    SELECT 1 FROM event e WHERE e.record_id = u.record_id AND e.kind = 'forgotten'
)) AND {also} ON CONFLICT DO NOTHING RETURNING id"""


def _check_date(told: str) -> str:
    """That it happened when its body says so, and not later than now, by whatever clock."""
    return f"""u.at_us = extract(epoch FROM CAST(u.body::json #>> '{{{told}}}' AS timestamptz)) * 1000000
            AND u.at_us < extract(epoch FROM now()) * 1000000 + {limits.DAY_US}"""


# Whoever may only record says what a token of the scope `write` may: hypotheses, what they teach, and
# of others' records what decides nothing. Bodies are what is read in the end, so they have to say
# the same as the columns. What came from elsewhere may claim more there: its arrival takes that.
_MAY_CLAIM: Final = f"""(u.status = 'hypothesis'
                OR u.status = 'archived' AND u.author LIKE '%{VIA_IMPORT}') AND u.helped = 0 AND u.hindered = 0
            AND u.kind NOT IN ({_quote_each(STAND_INS)}) AND (u.kind = 'fix' OR u.fix IS NULL)
            AND octet_length(u.body) <= {limits.RECORD_BYTES_MAX}
            AND u.body::json ->> 'kind' = u.kind AND u.body::json ->> 'id' = u.id
            AND {_check_date("metadata,context,timestamp")}
            AND regexp_replace(u.author, '{VIA_IMPORT}$', '')
                = u.body::json #>> '{{metadata,source,author}}'
            AND (u.validation IS NULL OR u.author LIKE '%{VIA_IMPORT}')
            AND coalesce(u.validation::json, u.body::json #> '{{metadata,validation}}')
                ->> 'status' = u.status
            AND coalesce(u.validation::json, u.body::json #> '{{metadata,validation}}')
                ->> 'verified_by' IS NULL
            AND coalesce(u.validation::json, u.body::json #> '{{metadata,validation}}')
                ->> 'verification_id' IS NULL
            AND coalesce(json_array_length(u.lessons), 0) <= {limits.LESSONS_AT_ONCE_MAX}
            AND NOT EXISTS (
                SELECT 1 FROM json_array_elements(u.lessons) l WHERE (CASE l.value ->> 0
                    WHEN 'credit' THEN l.value ->> 1 IN (
                        SELECT json_array_elements_text(u.body::json -> 'recalled'))
                    {" ".join(f"WHEN '{scope}' THEN u.kind = '{kind}'" for scope, kind in KIND_OF_SCOPE.items())}
                    END AND CAST(l.value ->> 3 AS bigint) BETWEEN 0 AND {LEVELS - 1}
                    AND CAST(l.value ->> 4 AS bigint) BETWEEN 0 AND CASE
                    WHEN l.value ->> 0 IN ({_quote_each(sorted(SCORED_SCOPES))}) THEN {MILLIONTHS} ELSE 0 END
                ) IS NOT TRUE
            )"""
_MAY_SAY: Final = f"""u.kind IN ({_quote_each(ORDINARY_EVENTS)}) AND u.body::json ->> 'kind' = u.kind
            AND u.body::json ->> 'id' = u.id AND u.body::json ->> 'record_id' = u.record_id
            AND u.body::json ->> 'by' = u.said_by AND {_check_date("at")}
            AND CASE u.kind WHEN 'credited' THEN u.body::json ->> 'helped' IN ('true', 'false')
                ELSE u.body::json ->> 'helped' IS NULL END
            AND EXISTS (
                SELECT 1 FROM record r WHERE r.id = u.record_id AND (u.kind <> 'imported'
                    OR r.status = coalesce(u.body::json ->> 'status', 'hypothesis')
                AND r.status IN ('hypothesis', 'archived') AND r.author LIKE '%{VIA_IMPORT}')
            )"""
# A login has as many votes about a record as a token, in whatever names it speaks.
_VOTES: Final = f"""(
    SELECT u.*, row_number() OVER (PARTITION BY u.record_id, u.kind, u.body::json ->> 'helped')
        AS place FROM {events_in("rows")}
) u"""
_HAS_A_VOTE: Final = f"""(u.kind = 'imported' OR u.place + (
    SELECT count(*) FROM event e WHERE e.record_id = u.record_id AND e.kind = u.kind
    AND e.login = session_user
    AND e.body::json ->> 'helped' IS NOT DISTINCT FROM u.body::json ->> 'helped'
) <= CASE u.kind WHEN 'credited' THEN {limits.VOTES_OF_AUTHOR_MAX} ELSE 1 END)"""


def _refusing(given: str, allowed: str, what: str) -> str:
    return f"""IF EXISTS (SELECT 1 FROM {given} WHERE ({allowed}) IS NOT TRUE) THEN
        RAISE insufficient_privilege USING MESSAGE = 'only a governor may {what}';
    END IF;"""


def _functions(schema: str) -> str:
    """With the rights of the owner of the tables: what a writer may do only so far."""
    as_owner = f"SECURITY DEFINER SET search_path = {schema}, pg_catalog, pg_temp"
    return f"""
CREATE FUNCTION add_records(rows json) RETURNS TABLE (new_id text, new_seq bigint)
LANGUAGE plpgsql {as_owner} AS $$
#variable_conflict use_column
BEGIN
    {_refusing(f"json_to_recordset(rows) AS u ({_GIVEN})", _MAY_CLAIM, "record what decides")}
    RETURN QUERY {add_records("rows", f", {_TAUGHT}")};
END $$;

CREATE FUNCTION add_events(rows json) RETURNS TABLE (new_id text)
LANGUAGE plpgsql {as_owner} AS $$
#variable_conflict use_column
BEGIN
    {_refusing(events_in("rows"), _MAY_SAY, "decide")}
    -- one after the other, so that votes are counted that others are about to give
    PERFORM 1 FROM record r WHERE r.id IN (SELECT u.record_id FROM json_to_recordset(rows)
        AS u (record_id text)) ORDER BY r.id FOR NO KEY UPDATE;
    RETURN QUERY {add_events(_VOTES, _HAS_A_VOTE)};
END $$;

-- What the record's events add up to, as `trust.lifecycle.credits_of` has it.
CREATE FUNCTION credit(of_record text) RETURNS void
LANGUAGE sql {as_owner} AS $$
    UPDATE record r SET helped = voted.good + voted.again, hindered = voted.bad FROM (
        SELECT coalesce(sum(least(good, {limits.VOTES_OF_AUTHOR_MAX})), 0) AS good,
            coalesce(sum(least(bad, {limits.VOTES_OF_AUTHOR_MAX})), 0) AS bad,
            count(*) FILTER (WHERE again) AS again
        FROM (
            SELECT count(*) FILTER (WHERE e.kind = 'credited' AND e.helped) AS good,
                count(*) FILTER (WHERE e.kind = 'credited' AND NOT e.helped) AS bad,
                bool_or(e.kind = 'repeated' AND e.said_by <> e.author) AS again
            FROM (
                SELECT e.kind, e.said_by, regexp_replace(o.author, '{VIA_IMPORT}$', '') AS author,
                    coalesce(CAST(e.body::json ->> 'helped' AS boolean), false) AS helped
                FROM event e JOIN record o ON o.id = e.record_id
                WHERE e.record_id = of_record AND e.kind IN ('credited', 'repeated')
            ) e GROUP BY e.said_by
        ) v
    ) voted WHERE r.id = of_record
$$;

-- A vector is of a record that is there: nobody says beforehand what the next one means.
CREATE FUNCTION drop_stray_vector() RETURNS trigger LANGUAGE plpgsql {as_owner} AS $$
BEGIN
    RETURN CASE WHEN EXISTS (SELECT 1 FROM record r WHERE r.seq = NEW.seq) THEN NEW END;
END $$;
CREATE TRIGGER drop_stray_vector BEFORE INSERT ON record_vector
    FOR EACH ROW EXECUTE FUNCTION drop_stray_vector();

-- What a record claims that comes from elsewhere is taken from it by the event of its arrival.
CREATE FUNCTION check_arrival() RETURNS trigger LANGUAGE plpgsql {as_owner} AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM record r WHERE r.seq = NEW.seq AND r.author = NEW.author)
        AND NOT EXISTS (SELECT 1 FROM event e WHERE e.record_id = NEW.id AND e.kind = 'imported')
    THEN
        RAISE insufficient_privilege USING MESSAGE = 'a record came from elsewhere without saying so';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER check_arrival AFTER INSERT ON record DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.author LIKE '%{VIA_IMPORT}') EXECUTE FUNCTION check_arrival();

-- How many texts have each term, of those that came since it was counted last.
CREATE FUNCTION count_terms() RETURNS void LANGUAGE plpgsql {as_owner} AS $$
DECLARE
    counted_to bigint;
    more bigint;
    longer bigint;
    last bigint;
BEGIN
    LOCK TABLE term_count IN SHARE ROW EXCLUSIVE MODE;
    SELECT coalesce(max(value), 0) INTO counted_to FROM state WHERE name = '{COUNTED_TO}';
    SELECT count(*), sum(t.length), max(t.seq) INTO more, longer, last
        FROM record_text t WHERE t.seq > counted_to;
    IF more = 0 THEN
        RETURN;
    END IF;
    INSERT INTO term_count AS c (term, documents) SELECT ltrim(word, '='), sum(ndoc)
        FROM ts_stat(format('SELECT words(terms, often) FROM record_text '
            'WHERE seq > %s AND seq <= %s', counted_to, last)) GROUP BY 1 ORDER BY 1
        ON CONFLICT (term) DO UPDATE SET documents = c.documents + excluded.documents;
    INSERT INTO state AS s (name, value) VALUES ('{TEXTS_COUNTED}', more),
        ('{WORDS_COUNTED}', longer), ('{COUNTED_TO}', last - counted_to)
        ON CONFLICT (name) DO UPDATE SET value = s.value + excluded.value;
END $$;

CREATE FUNCTION set_state(of_name text, new_value bigint) RETURNS void
LANGUAGE sql {as_owner} AS $$
    INSERT INTO state (name, value) SELECT of_name, new_value
    WHERE of_name NOT IN ({_quote_each(COUNTS)})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value
$$;

-- By the server's clock, whatever anybody says that the time is.
CREATE FUNCTION drop_requests() RETURNS void LANGUAGE sql {as_owner} AS $$
    DELETE FROM request WHERE key IN (
        SELECT key FROM request WHERE at_us < extract(epoch FROM now()) * 1000000
            - {limits.REQUESTS_REMEMBERED_DAYS * limits.DAY_US}
        LIMIT {limits.REQUESTS_DROPPED_AT_ONCE}
    )
$$;

-- As long as nobody looked at a table, each of its indexes seems as good as any other. The server
-- looks every minute or so, where it does at all; what a large write brought cannot wait for that.
CREATE FUNCTION follow_growth() RETURNS void LANGUAGE plpgsql {as_owner} AS $$
DECLARE
    grown regclass;
BEGIN
    FOR grown IN SELECT c.oid FROM pg_class c
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
        AND pg_relation_size(c.oid) > 2 * greatest(c.relpages, 1)
            * current_setting('block_size')::bigint ORDER BY c.oid
    LOOP
        EXECUTE format('ANALYZE (SKIP_LOCKED) %s', grown);
    END LOOP;
    PERFORM gin_clean_pending_list('record_text_by_term');
END $$;
"""


def _rights(schema: str) -> str:
    reader, writer, governor = (f'"{schema}_{level}"' for level in ACCESS)
    return f"""
GRANT USAGE ON SCHEMA "{schema}" TO {reader}, {writer}, {governor};
GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO {reader}, {writer}, {governor};
GRANT INSERT ON embedder, record_vector, request TO {writer};
GRANT INSERT, UPDATE, DELETE ON {", ".join(PROJECT_TABLES)} TO {governor};
GRANT USAGE ON SEQUENCE record_seq_seq TO {governor};
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA "{schema}" FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA "{schema}" TO {writer}, {governor};
GRANT EXECUTE ON FUNCTION words TO {reader};
"""


def project_schema(schema: str, extension: str | None) -> str:
    """Everything in the schema of a project, which is there and on the search path. `extension` is
    where pgvector is.
    """
    vectors = with_vectors(schema, extension) if extension else ""
    return _TABLES + _VIEWS + _functions(f'"{schema}"') + vectors + _rights(schema)


def with_vectors(schema: str, extension: str) -> str:
    """What is added where the server has pgvector, in the schema `extension`. An index is for one
    length of vectors: whoever keeps the first of a length has it made, by the owner's leave.
    """
    return f"""
ALTER TABLE "{schema}".record_vector ADD COLUMN IF NOT EXISTS embedding {extension}.vector;
CREATE OR REPLACE FUNCTION "{schema}".index_vectors(dimension integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = "{schema}", pg_catalog, pg_temp AS $$
BEGIN
    IF (SELECT count(*) FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace
        AND c.relkind = 'i' AND starts_with(c.relname::text, 'record_vector_near_'))
            >= {limits.VECTOR_INDEXES_MAX} THEN
        RETURN;  -- vectors of further lengths are compared one by one
    END IF;
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS record_vector_near_%s ON record_vector '
        'USING hnsw ((embedding::{extension}.vector(%s)) {extension}.vector_cosine_ops) '
        'WHERE dimension = %s', dimension, dimension, dimension);
END $$;
REVOKE ALL ON FUNCTION "{schema}".index_vectors FROM PUBLIC;
GRANT EXECUTE ON FUNCTION "{schema}".index_vectors TO "{schema}_{WRITER}", "{schema}_{GOVERNOR}";
"""
