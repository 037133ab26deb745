"""The PostgreSQL schema, as the ordered changes that led to it. Released entries are never edited: add a new one.

Tables and columns are named as in SQLite (`store.migrations`), with these differences:

record       `good` (whether it turned out well) and `extra` (keys of the caller's own) are columns, so that no body is parsed.
record_text  `vector` holds the same terms for the index: each once, once more where the record has it twice, three times, more
             often, and behind a mark of its project, so that the index is led by the project too (`words.as_vector`).
event        what queries ask of its body has columns of its own.
term_count   how many records have a term, as of the last count; how many were counted is in `state`.
record_vector   `embedding` is there where the server has pgvector; `vector` is the same in bytes.
fix          what the views of fix history show of one fix each. The views have the columns of the tables of that name.
granted      which role reaches which project, and how far. Policies ask this table and nothing that a client can set.
token        as the file of tokens beside a SQLite memory; only whoever runs a server reaches it.

Every key and index is led by project_id, so that a project is found without the others, and texts compare byte by byte.
"""

from __future__ import annotations

from typing import Final

from hardwon import limits
from hardwon.learn.tallies import LEVELS
from hardwon.records.kinds import VOUCHED_STATUSES
from hardwon.search import rank as bm25

SCHEMA: Final = "hardwon"
OWNER: Final = "hardwon_owner"
KEEPER: Final = "hardwon_keeper"
"""Who runs a server: reaches the tokens."""

READER, WRITER, GOVERNOR = "reader", "writer", "governor"
ACCESS: Final = (READER, WRITER, GOVERNOR)
"""Each may do what those before it may, and more."""

_TEXT: Final = 'text COLLATE "C"'
ORDINARY_EVENTS: Final = ("imported", "credited", "repeated")
"""What a writer may say of a record. Everything else decides something, which takes a governor."""

PROJECT_TABLES: Final = (
    "record",
    "record_text",
    "record_tag",
    "record_file",
    "record_key",
    "record_vector",
    "event",
    "tally",
    "state",
    "request",
    "embedder",
    "term_count",
    "fix",
)
"""Those that hold what belongs to one project."""

VIEWS: Final = ("fix_history", "issue_patterns", "model_characteristics")
_MINE: Final = f"project_id = ANY (ARRAY(SELECT g.project_id FROM {SCHEMA}.granted g WHERE g.role = current_user))"
_IN_EFFECT: Final = ", ".join(f"'{status}'" for status in VOUCHED_STATUSES)


def group_role(level: str) -> str:
    """Has the privileges of a level on every table, and by itself reaches no project."""
    return f"hardwon_{level}"


_TABLES: Final = f"""
CREATE TABLE granted (
    role name NOT NULL,
    project_id TEXT NOT NULL,
    level TEXT NOT NULL,
    PRIMARY KEY (project_id, role)
);
CREATE UNIQUE INDEX granted_level ON granted (project_id, level);
CREATE UNIQUE INDEX granted_role ON granted (role);

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

CREATE SEQUENCE record_seq;
CREATE TABLE record (
    project_id TEXT NOT NULL,
    seq bigint NOT NULL,
    id TEXT NOT NULL,
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
    good boolean,
    extra jsonb,
    PRIMARY KEY (project_id, id)
);
CREATE UNIQUE INDEX record_by_seq ON record (project_id, seq);
CREATE INDEX record_by_time ON record (project_id, at_us, id);
CREATE INDEX record_by_task ON record (project_id, task_id, at_us, id) WHERE task_id IS NOT NULL;
CREATE INDEX record_by_issue ON record (project_id, model, issue_type, at_us, id) WHERE model IS NOT NULL;
CREATE INDEX record_decision ON record (project_id, outcome, at_us, id) WHERE kind = 'decision';
CREATE INDEX record_counted ON record (project_id, kind, outcome, tool, status, author, at_us);
CREATE INDEX record_helped ON record (project_id, status, helped, at_us, id) WHERE helped > 0;

CREATE TABLE record_text (
    project_id TEXT NOT NULL,
    seq bigint NOT NULL,
    terms TEXT NOT NULL,
    length integer NOT NULL,
    vector tsvector NOT NULL,
    PRIMARY KEY (project_id, seq)
);
CREATE INDEX record_text_by_term ON record_text USING gin (vector) WITH (gin_pending_list_limit = {limits.TERMS_PENDING_KIB});

CREATE TABLE term_count (
    project_id TEXT NOT NULL, term TEXT NOT NULL, documents bigint NOT NULL, PRIMARY KEY (project_id, term)
) WITH (fillfactor = 80);

CREATE TABLE record_tag (
    project_id TEXT NOT NULL, seq bigint NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (project_id, seq, tag)
);
CREATE INDEX record_tag_by_tag ON record_tag (project_id, tag, seq);

-- A path may be longer than an entry of an index.
CREATE TABLE record_file (
    project_id TEXT NOT NULL, seq bigint NOT NULL, number integer NOT NULL, path TEXT NOT NULL,
    PRIMARY KEY (project_id, seq, number)
);

CREATE TABLE record_key (
    project_id TEXT NOT NULL, seq bigint NOT NULL, key TEXT NOT NULL, PRIMARY KEY (project_id, seq, key)
);
CREATE INDEX record_key_by_key ON record_key (project_id, key, seq);

CREATE TABLE record_vector (
    project_id TEXT NOT NULL, seq bigint NOT NULL, vector bytea NOT NULL, dimension bigint NOT NULL,
    PRIMARY KEY (project_id, seq)
);
CREATE TABLE embedder (project_id TEXT PRIMARY KEY, name TEXT NOT NULL, dimension bigint NOT NULL);

CREATE TABLE event (
    project_id TEXT NOT NULL,
    id TEXT NOT NULL,
    record_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    at_us bigint NOT NULL,
    body TEXT NOT NULL,
    said_by TEXT NOT NULL,
    said_status TEXT,
    said_replaced_by TEXT,
    said_undoes TEXT,
    PRIMARY KEY (project_id, id)
);
CREATE INDEX event_by_record ON event (project_id, record_id, at_us, id);
CREATE INDEX event_by_time ON event (project_id, at_us, id);
CREATE INDEX event_forgotten ON event (project_id, record_id) WHERE kind = 'forgotten';
CREATE INDEX event_stale ON event (project_id, at_us, id) WHERE kind = 'stale';
CREATE INDEX event_replacing ON event (project_id, said_replaced_by) WHERE kind = 'superseded';

CREATE TABLE tally (
    project_id TEXT NOT NULL,
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
    PRIMARY KEY (project_id, scope, key, item, day, author)
) WITH (fillfactor = 80);
CREATE INDEX tally_vouched ON tally (project_id, scope, item) WHERE scope IN ('works', 'avoid') AND vouched > 0;

CREATE TABLE state (
    project_id TEXT NOT NULL, name TEXT NOT NULL, value bigint NOT NULL, PRIMARY KEY (project_id, name)
);

CREATE TABLE request (
    project_id TEXT NOT NULL,
    key bytea NOT NULL,
    said bytea NOT NULL,
    ids TEXT NOT NULL,
    at_us bigint NOT NULL,
    PRIMARY KEY (project_id, key)
);
CREATE INDEX request_at ON request (project_id, at_us);

CREATE TABLE fix (
    project_id TEXT NOT NULL,
    seq bigint NOT NULL,
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
    notes TEXT,
    PRIMARY KEY (project_id, seq)
);
CREATE INDEX fix_by_pattern ON fix (project_id, pattern, strategy);
CREATE INDEX fix_by_model ON fix (project_id, model, strategy);
CREATE INDEX fix_by_strategy ON fix (project_id, strategy, seq);
"""

# A condition on the index of terms cannot be used beneath a policy: the planner does not know that
# comparing terms tells nothing about rows that the policy hides. So this one function looks past
# the policy, and asks itself what the policy would. It is BM25 (`recall.bm25`), where a term that a
# text has `times` adds what it is worth more than one time less. All of it comes from the index and
# the length: to unpack the vectors of all that match would take ten times as long.
_MATCHING: Final = f"""
CREATE FUNCTION matching(wanted_project text, terms tsquery[], times float8[], worth float8[], usual_length float8, most bigint)
RETURNS TABLE (seq bigint, score float8)
LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE ROWS 200 SET search_path = {SCHEMA}, pg_catalog, pg_temp AS $$
    SELECT t.seq, sum(u.worth * (u.times / (u.times + t.slowness) - (u.times - 1) / (u.times - 1 + t.slowness))) AS score
    FROM unnest(terms, times, worth) AS u (term, times, worth) CROSS JOIN LATERAL (
        SELECT r.seq, {bm25.K1}::float8 * ({1 - bm25.B}::float8 + {bm25.B}::float8 * (r.length / usual_length)) AS slowness
        FROM {SCHEMA}.record_text r WHERE r.project_id = wanted_project AND r.vector @@ u.term OFFSET 0
    ) t
    WHERE EXISTS (
        SELECT 1 FROM {SCHEMA}.granted g WHERE g.project_id = wanted_project AND g.role = current_setting('role')
    )
    GROUP BY t.seq ORDER BY 2 DESC, 1 DESC LIMIT most
$$;
"""

# Every index is led by the project, and as long as nobody looked at a table, each seems as good as
# any other. The server looks every minute or so, where it does at all; what a large write brought
# cannot wait for that.
_GROWTH: Final = f"""
CREATE FUNCTION follow_growth() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {SCHEMA}, pg_catalog, pg_temp AS $$
DECLARE
    grown regclass;
BEGIN
    FOR grown IN SELECT c.oid FROM pg_class c WHERE c.relnamespace = '{SCHEMA}'::regnamespace AND c.relkind = 'r'
        AND pg_relation_size(c.oid) > 2 * greatest(c.relpages, 1) * current_setting('block_size')::bigint ORDER BY c.oid
    LOOP
        EXECUTE format('ANALYZE (SKIP_LOCKED) %s', grown);
    END LOOP;
END $$;
"""

_NOT_ROLLED_BACK: Final = f"""NOT EXISTS (
        SELECT 1 FROM {SCHEMA}.record_key k JOIN {SCHEMA}.record d ON d.project_id = k.project_id AND d.seq = k.seq
        WHERE k.project_id = r.project_id AND k.key = 'rollback:' || r.author AND d.status IN ({_IN_EFFECT})
    )"""
_COUNTING: Final = f"""{SCHEMA}.fix f JOIN {SCHEMA}.record r ON r.project_id = f.project_id AND r.seq = f.seq
    WHERE r.status <> 'archived' AND {_NOT_ROLLED_BACK}"""

_VIEWS: Final = f"""
CREATE VIEW fix_history WITH (security_invoker = true) AS
SELECT f.seq AS id, f.at AS timestamp, f.model AS model_name, f.issue_type, f.signature AS issue_signature, f.description,
    f.fixer_type, f.claude_analysis, f.fix_commands, f.fix_success, f.verification_success, f.execution_time_seconds,
    f.system_info, f.notes, f.project_id
FROM {_COUNTING} AND f.shown;

CREATE VIEW issue_patterns WITH (security_invoker = true) AS
WITH counting AS (SELECT f.* FROM {_COUNTING}),
worked AS (
    SELECT project_id, pattern, strategy, count(*) AS verified FROM counting WHERE level = 2 AND strategy <> ''
    GROUP BY project_id, pattern, strategy
),
best AS (
    SELECT DISTINCT ON (w.project_id, w.pattern) w.project_id, w.pattern,
        (d.did::jsonb || jsonb_build_object('verified', w.verified))::text AS best_fix
    FROM worked w CROSS JOIN LATERAL (
        SELECT c.did FROM counting c WHERE c.project_id = w.project_id AND c.strategy = w.strategy AND c.did IS NOT NULL
        ORDER BY c.seq DESC LIMIT 1
    ) d
    ORDER BY w.project_id, w.pattern, w.verified DESC, w.strategy
)
SELECT min(c.seq) AS id, c.pattern AS pattern_name, max(c.signature) AS issue_signature,
    count(*) FILTER (WHERE c.level = 2) AS success_count, count(*) FILTER (WHERE c.level < 2) AS failure_count,
    max(b.best_fix) AS best_fix, max(c.at) AS last_seen, least(1.0, count(*) / 10.0)::float8 AS confidence_score, c.project_id
FROM counting c LEFT JOIN best b ON b.project_id = c.project_id AND b.pattern = c.pattern
GROUP BY c.project_id, c.pattern;

CREATE VIEW model_characteristics WITH (security_invoker = true) AS
WITH counting AS (SELECT f.* FROM {_COUNTING}),
issues AS (
    SELECT project_id, model, issue_type,
        row_number() OVER (PARTITION BY project_id, model ORDER BY count(*) DESC, issue_type) AS place
    FROM counting GROUP BY project_id, model, issue_type
),
worked AS (
    SELECT project_id, model, strategy,
        row_number() OVER (PARTITION BY project_id, model ORDER BY count(*) DESC, strategy) AS place
    FROM counting WHERE level = 2 AND strategy <> '' GROUP BY project_id, model, strategy
),
fixes AS (
    SELECT w.project_id, w.model, d.told, w.place FROM worked w CROSS JOIN LATERAL (
        SELECT c.told FROM counting c WHERE c.project_id = w.project_id AND c.strategy = w.strategy AND c.did IS NOT NULL
        ORDER BY c.seq DESC LIMIT 1
    ) d
    WHERE w.place <= {limits.FIXES_LISTED_MAX} AND d.told <> ''
)
SELECT c.model AS model_name, count(*) AS total_tests,
    (count(*) FILTER (WHERE c.level = 2))::float8 / count(*) AS success_rate,
    (SELECT jsonb_agg(i.issue_type ORDER BY i.place)::text FROM issues i
        WHERE i.project_id = c.project_id AND i.model = c.model AND i.place <= {limits.FIXES_LISTED_MAX}) AS common_issues,
    coalesce((SELECT jsonb_agg(x.told ORDER BY x.place)::text FROM fixes x
        WHERE x.project_id = c.project_id AND x.model = c.model), '[]') AS effective_fixes,
    max(c.at) AS last_updated,
    count(*) FILTER (WHERE c.level >= 1) || ' of ' || count(*) || ' fixes were applied, '
        || count(*) FILTER (WHERE c.level = 2) || ' of them verified' AS performance_notes,
    c.project_id
FROM counting c GROUP BY c.project_id, c.model;
"""

_RIGHTS: Final = f"""
GRANT USAGE ON SCHEMA {SCHEMA} TO PUBLIC;
GRANT SELECT ON granted, migrated TO PUBLIC;
GRANT SELECT ON {", ".join(PROJECT_TABLES)}, {", ".join(VIEWS)} TO {group_role(READER)};
GRANT INSERT ON {", ".join(PROJECT_TABLES)} TO {group_role(WRITER)};
GRANT UPDATE (helped, hindered) ON record TO {group_role(WRITER)};
GRANT UPDATE ON tally, state, term_count, embedder, record_vector TO {group_role(WRITER)};
GRANT DELETE ON request, record_vector TO {group_role(WRITER)};
GRANT USAGE ON SEQUENCE record_seq TO {group_role(WRITER)};
GRANT UPDATE, DELETE ON {", ".join(PROJECT_TABLES)} TO {group_role(GOVERNOR)};
GRANT SELECT, INSERT, UPDATE, DELETE ON token TO {KEEPER};
REVOKE ALL ON FUNCTION matching, follow_growth FROM PUBLIC;
GRANT EXECUTE ON FUNCTION follow_growth TO {group_role(WRITER)};
GRANT EXECUTE ON FUNCTION matching TO {group_role(READER)};
"""


def _isolated(table: str) -> str:
    """The owner looks after all projects; everybody else has those that are granted to the role
    they act as.
    """
    return f"""
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
CREATE POLICY granted_projects ON {table} USING ({_MINE}) WITH CHECK ({_MINE});
CREATE POLICY owner ON {table} TO {OWNER} USING (true) WITH CHECK (true);
"""


_GOVERNS: Final = f"pg_has_role(current_user, '{group_role(GOVERNOR)}', 'MEMBER')"
# Whoever may only record says of a record what it may say of itself, and of others what decides
# nothing. Bodies are what is read in the end, so they have to say the same as the columns.
_POLICIES: Final = (
    "".join(map(_isolated, PROJECT_TABLES))
    + f"""
CREATE POLICY deciding ON event AS RESTRICTIVE FOR INSERT WITH CHECK ({_GOVERNS} OR (
    kind IN ({", ".join(f"'{kind}'" for kind in ORDINARY_EVENTS)}) AND body::json ->> 'kind' = kind AND (kind <> 'imported'
    OR EXISTS (SELECT 1 FROM {SCHEMA}.record r WHERE r.project_id = event.project_id AND r.id = event.record_id
        AND r.status = 'hypothesis'))
));
CREATE POLICY claiming ON record AS RESTRICTIVE FOR INSERT WITH CHECK ({_GOVERNS} OR (
    status <> 'published' AND NOT (kind = 'decision' AND status IN ({_IN_EFFECT})) AND helped = 0 AND hindered = 0
    AND status = coalesce(coalesce(validation::json, body::json #> '{{metadata,validation}}') ->> 'status', 'hypothesis')
));
ALTER TABLE granted ENABLE ROW LEVEL SECURITY;
ALTER TABLE granted FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON granted FOR SELECT USING (EXISTS (
    SELECT 1 FROM pg_roles p WHERE p.rolname = granted.role AND pg_has_role(current_user, p.oid, 'MEMBER')
));
CREATE POLICY owner ON granted TO {OWNER} USING (true) WITH CHECK (true);
ALTER TABLE token ENABLE ROW LEVEL SECURITY;
ALTER TABLE token FORCE ROW LEVEL SECURITY;
CREATE POLICY kept ON token TO {KEEPER}, {OWNER} USING (true) WITH CHECK (true);
"""
)

MIGRATIONS: Final[tuple[str, ...]] = (
    _TABLES.replace(" TEXT", f" {_TEXT}") + _MATCHING + _GROWTH + _VIEWS + _RIGHTS + _POLICIES,
    # Steps that their reward calls failed are counted so: everything is learned anew.
    "SELECT 1",
)

SCHEMA_VERSION: Final = len(MIGRATIONS)
KNOWLEDGE_SINCE: Final = 2
"""After this change the records that are there already are counted anew."""


def with_vectors(extension: str) -> str:
    """What is added where the server has pgvector, in this schema. An index is for one length of
    vectors: whoever keeps the first of a length has it made, by the owner's leave.
    """
    return f"""
ALTER TABLE record_vector ADD COLUMN IF NOT EXISTS embedding {extension}.vector;
CREATE OR REPLACE FUNCTION index_vectors(dimension integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {SCHEMA}, pg_catalog, pg_temp AS $$
BEGIN
    IF (SELECT count(*) FROM pg_class c WHERE c.relnamespace = '{SCHEMA}'::regnamespace
        AND c.relkind = 'i' AND starts_with(c.relname::text, 'record_vector_near_')) >= {limits.VECTOR_INDEXES_MAX} THEN
        RETURN;  -- vectors of further lengths are compared one by one
    END IF;
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS record_vector_near_%s ON {SCHEMA}.record_vector '
        'USING hnsw ((embedding::{extension}.vector(%s)) {extension}.vector_cosine_ops) '
        'WHERE dimension = %s', dimension, dimension, dimension);
END $$;
REVOKE ALL ON FUNCTION index_vectors FROM PUBLIC;
GRANT EXECUTE ON FUNCTION index_vectors TO {group_role(WRITER)};
"""
