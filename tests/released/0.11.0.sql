-- A PostgreSQL database that Hardwon 0.11.0 made (make.py), as pg_dump --inserts has it.
DO $$ BEGIN CREATE ROLE hardwon_governor NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
DO $$ BEGIN CREATE ROLE hardwon_it_s_another_f5fb226674017adc_governor NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
DO $$ BEGIN CREATE ROLE hardwon_it_s_another_f5fb226674017adc_reader NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
DO $$ BEGIN CREATE ROLE hardwon_it_s_another_f5fb226674017adc_writer NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
DO $$ BEGIN CREATE ROLE hardwon_keeper NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
DO $$ BEGIN CREATE ROLE hardwon_owner NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
DO $$ BEGIN CREATE ROLE hardwon_reader NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
DO $$ BEGIN CREATE ROLE hardwon_released_74d6360d3c8203e1_governor NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
DO $$ BEGIN CREATE ROLE hardwon_released_74d6360d3c8203e1_reader NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
DO $$ BEGIN CREATE ROLE hardwon_released_74d6360d3c8203e1_writer NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
DO $$ BEGIN CREATE ROLE hardwon_writer NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
GRANT hardwon_governor TO hardwon_it_s_another_f5fb226674017adc_governor;
GRANT hardwon_governor TO hardwon_released_74d6360d3c8203e1_governor;
GRANT hardwon_reader TO hardwon_it_s_another_f5fb226674017adc_reader;
GRANT hardwon_reader TO hardwon_released_74d6360d3c8203e1_reader;
GRANT hardwon_reader TO hardwon_writer;
GRANT hardwon_writer TO hardwon_governor;
GRANT hardwon_writer TO hardwon_it_s_another_f5fb226674017adc_writer;
GRANT hardwon_writer TO hardwon_released_74d6360d3c8203e1_writer;
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA hardwon;
ALTER SCHEMA hardwon OWNER TO hardwon_owner;
CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA hardwon;
COMMENT ON EXTENSION vector IS 'vector data type and ivfflat and hnsw access methods';
CREATE FUNCTION hardwon.follow_growth() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'hardwon', 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    grown regclass;
BEGIN
    FOR grown IN SELECT c.oid FROM pg_class c WHERE c.relnamespace = 'hardwon'::regnamespace AND c.relkind = 'r'
        AND pg_relation_size(c.oid) > 2 * greatest(c.relpages, 1) * current_setting('block_size')::bigint ORDER BY c.oid
    LOOP
        EXECUTE format('ANALYZE (SKIP_LOCKED) %s', grown);
    END LOOP;
END $$;
ALTER FUNCTION hardwon.follow_growth() OWNER TO hardwon_owner;
CREATE FUNCTION hardwon.index_vectors(dimension integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'hardwon', 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF (SELECT count(*) FROM pg_class c WHERE c.relnamespace = 'hardwon'::regnamespace
        AND c.relkind = 'i' AND starts_with(c.relname::text, 'record_vector_near_')) >= 8 THEN
        RETURN;  -- vectors of further lengths are compared one by one
    END IF;
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS record_vector_near_%s ON hardwon.record_vector '
        'USING hnsw ((embedding::hardwon.vector(%s)) hardwon.vector_cosine_ops) '
        'WHERE dimension = %s', dimension, dimension, dimension);
END $$;
ALTER FUNCTION hardwon.index_vectors(dimension integer) OWNER TO hardwon_owner;
CREATE FUNCTION hardwon.matching(wanted_project text, terms tsquery[], times double precision[], worth double precision[], usual_length double precision, most bigint) RETURNS TABLE(seq bigint, score double precision)
    LANGUAGE sql STABLE SECURITY DEFINER ROWS 200 PARALLEL SAFE
    SET search_path TO 'hardwon', 'pg_catalog', 'pg_temp'
    AS $$
    SELECT t.seq, sum(u.worth * (u.times / (u.times + t.slowness) - (u.times - 1) / (u.times - 1 + t.slowness))) AS score
    FROM unnest(terms, times, worth) AS u (term, times, worth) CROSS JOIN LATERAL (
        SELECT r.seq, 1.2::float8 * (0.25::float8 + 0.75::float8 * (r.length / usual_length)) AS slowness
        FROM hardwon.record_text r WHERE r.project_id = wanted_project AND r.vector @@ u.term OFFSET 0
    ) t
    WHERE EXISTS (
        SELECT 1 FROM hardwon.granted g WHERE g.project_id = wanted_project AND g.role = current_setting('role')
    )
    GROUP BY t.seq ORDER BY 2 DESC, 1 DESC LIMIT most
$$;
ALTER FUNCTION hardwon.matching(wanted_project text, terms tsquery[], times double precision[], worth double precision[], usual_length double precision, most bigint) OWNER TO hardwon_owner;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE hardwon.embedder (
    project_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    dimension bigint NOT NULL
);
ALTER TABLE ONLY hardwon.embedder FORCE ROW LEVEL SECURITY;
ALTER TABLE hardwon.embedder OWNER TO hardwon_owner;
CREATE TABLE hardwon.event (
    project_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    record_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    at_us bigint NOT NULL,
    body text NOT NULL COLLATE pg_catalog."C",
    said_by text NOT NULL COLLATE pg_catalog."C",
    said_status text COLLATE pg_catalog."C",
    said_replaced_by text COLLATE pg_catalog."C",
    said_undoes text COLLATE pg_catalog."C"
);
ALTER TABLE ONLY hardwon.event FORCE ROW LEVEL SECURITY;
ALTER TABLE hardwon.event OWNER TO hardwon_owner;
CREATE TABLE hardwon.fix (
    project_id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    at text NOT NULL COLLATE pg_catalog."C",
    pattern text NOT NULL COLLATE pg_catalog."C",
    signature text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    issue_type text NOT NULL COLLATE pg_catalog."C",
    strategy text NOT NULL COLLATE pg_catalog."C",
    level smallint NOT NULL,
    did text COLLATE pg_catalog."C",
    told text COLLATE pg_catalog."C",
    shown boolean NOT NULL,
    description text COLLATE pg_catalog."C",
    fixer_type text COLLATE pg_catalog."C",
    claude_analysis text COLLATE pg_catalog."C",
    fix_commands text COLLATE pg_catalog."C",
    fix_success boolean,
    verification_success boolean,
    execution_time_seconds double precision,
    system_info text COLLATE pg_catalog."C",
    notes text COLLATE pg_catalog."C"
);
ALTER TABLE ONLY hardwon.fix FORCE ROW LEVEL SECURITY;
ALTER TABLE hardwon.fix OWNER TO hardwon_owner;
CREATE TABLE hardwon.record (
    project_id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    at_us bigint NOT NULL,
    author text NOT NULL COLLATE pg_catalog."C",
    outcome text COLLATE pg_catalog."C",
    tool text COLLATE pg_catalog."C",
    task_id text COLLATE pg_catalog."C",
    model text COLLATE pg_catalog."C",
    issue_type text COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    status text NOT NULL COLLATE pg_catalog."C",
    validation text COLLATE pg_catalog."C",
    helped bigint DEFAULT 0 NOT NULL,
    hindered bigint DEFAULT 0 NOT NULL,
    good boolean,
    extra jsonb
);
ALTER TABLE ONLY hardwon.record FORCE ROW LEVEL SECURITY;
ALTER TABLE hardwon.record OWNER TO hardwon_owner;
CREATE TABLE hardwon.record_key (
    project_id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE ONLY hardwon.record_key FORCE ROW LEVEL SECURITY;
ALTER TABLE hardwon.record_key OWNER TO hardwon_owner;
CREATE VIEW hardwon.fix_history WITH (security_invoker='true') AS
 SELECT f.seq AS id,
    f.at AS "timestamp",
    f.model AS model_name,
    f.issue_type,
    f.signature AS issue_signature,
    f.description,
    f.fixer_type,
    f.claude_analysis,
    f.fix_commands,
    f.fix_success,
    f.verification_success,
    f.execution_time_seconds,
    f.system_info,
    f.notes,
    f.project_id
   FROM (hardwon.fix f
     JOIN hardwon.record r ON (((r.project_id = f.project_id) AND (r.seq = f.seq))))
  WHERE ((r.status <> 'archived'::text) AND (NOT (EXISTS ( SELECT 1
           FROM (hardwon.record_key k
             JOIN hardwon.record d ON (((d.project_id = k.project_id) AND (d.seq = k.seq))))
          WHERE ((k.project_id = r.project_id) AND (k.key = ('rollback:'::text || r.author)) AND (d.status = ANY (ARRAY['verified'::text, 'published'::text])))))) AND f.shown);
ALTER VIEW hardwon.fix_history OWNER TO hardwon_owner;
CREATE TABLE hardwon.granted (
    role name NOT NULL,
    project_id text NOT NULL COLLATE pg_catalog."C",
    level text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE ONLY hardwon.granted FORCE ROW LEVEL SECURITY;
ALTER TABLE hardwon.granted OWNER TO hardwon_owner;
CREATE VIEW hardwon.issue_patterns WITH (security_invoker='true') AS
 WITH counting AS (
         SELECT f.project_id,
            f.seq,
            f.at,
            f.pattern,
            f.signature,
            f.model,
            f.issue_type,
            f.strategy,
            f.level,
            f.did,
            f.told,
            f.shown,
            f.description,
            f.fixer_type,
            f.claude_analysis,
            f.fix_commands,
            f.fix_success,
            f.verification_success,
            f.execution_time_seconds,
            f.system_info,
            f.notes
           FROM (hardwon.fix f
             JOIN hardwon.record r ON (((r.project_id = f.project_id) AND (r.seq = f.seq))))
          WHERE ((r.status <> 'archived'::text) AND (NOT (EXISTS ( SELECT 1
                   FROM (hardwon.record_key k
                     JOIN hardwon.record d ON (((d.project_id = k.project_id) AND (d.seq = k.seq))))
                  WHERE ((k.project_id = r.project_id) AND (k.key = ('rollback:'::text || r.author)) AND (d.status = ANY (ARRAY['verified'::text, 'published'::text])))))))
        ), worked AS (
         SELECT counting.project_id,
            counting.pattern,
            counting.strategy,
            count(*) AS verified
           FROM counting
          WHERE ((counting.level = 2) AND (counting.strategy <> ''::text))
          GROUP BY counting.project_id, counting.pattern, counting.strategy
        ), best AS (
         SELECT DISTINCT ON (w.project_id, w.pattern) w.project_id,
            w.pattern,
            (((d.did)::jsonb || jsonb_build_object('verified', w.verified)))::text AS best_fix
           FROM (worked w
             CROSS JOIN LATERAL ( SELECT c_1.did
                   FROM counting c_1
                  WHERE ((c_1.project_id = w.project_id) AND (c_1.strategy = w.strategy) AND (c_1.did IS NOT NULL))
                  ORDER BY c_1.seq DESC
                 LIMIT 1) d)
          ORDER BY w.project_id, w.pattern, w.verified DESC, w.strategy
        )
 SELECT min(c.seq) AS id,
    c.pattern AS pattern_name,
    max(c.signature) AS issue_signature,
    count(*) FILTER (WHERE (c.level = 2)) AS success_count,
    count(*) FILTER (WHERE (c.level < 2)) AS failure_count,
    max(b.best_fix) AS best_fix,
    max(c.at) AS last_seen,
    (LEAST(1.0, ((count(*))::numeric / 10.0)))::double precision AS confidence_score,
    c.project_id
   FROM (counting c
     LEFT JOIN best b ON (((b.project_id = c.project_id) AND (b.pattern = c.pattern))))
  GROUP BY c.project_id, c.pattern;
ALTER VIEW hardwon.issue_patterns OWNER TO hardwon_owner;
CREATE TABLE hardwon.migrated (
    version integer NOT NULL
);
ALTER TABLE hardwon.migrated OWNER TO hardwon_owner;
CREATE VIEW hardwon.model_characteristics WITH (security_invoker='true') AS
 WITH counting AS (
         SELECT f.project_id,
            f.seq,
            f.at,
            f.pattern,
            f.signature,
            f.model,
            f.issue_type,
            f.strategy,
            f.level,
            f.did,
            f.told,
            f.shown,
            f.description,
            f.fixer_type,
            f.claude_analysis,
            f.fix_commands,
            f.fix_success,
            f.verification_success,
            f.execution_time_seconds,
            f.system_info,
            f.notes
           FROM (hardwon.fix f
             JOIN hardwon.record r ON (((r.project_id = f.project_id) AND (r.seq = f.seq))))
          WHERE ((r.status <> 'archived'::text) AND (NOT (EXISTS ( SELECT 1
                   FROM (hardwon.record_key k
                     JOIN hardwon.record d ON (((d.project_id = k.project_id) AND (d.seq = k.seq))))
                  WHERE ((k.project_id = r.project_id) AND (k.key = ('rollback:'::text || r.author)) AND (d.status = ANY (ARRAY['verified'::text, 'published'::text])))))))
        ), issues AS (
         SELECT counting.project_id,
            counting.model,
            counting.issue_type,
            row_number() OVER (PARTITION BY counting.project_id, counting.model ORDER BY (count(*)) DESC, counting.issue_type) AS place
           FROM counting
          GROUP BY counting.project_id, counting.model, counting.issue_type
        ), worked AS (
         SELECT counting.project_id,
            counting.model,
            counting.strategy,
            row_number() OVER (PARTITION BY counting.project_id, counting.model ORDER BY (count(*)) DESC, counting.strategy) AS place
           FROM counting
          WHERE ((counting.level = 2) AND (counting.strategy <> ''::text))
          GROUP BY counting.project_id, counting.model, counting.strategy
        ), fixes AS (
         SELECT w.project_id,
            w.model,
            d.told,
            w.place
           FROM (worked w
             CROSS JOIN LATERAL ( SELECT c_1.told
                   FROM counting c_1
                  WHERE ((c_1.project_id = w.project_id) AND (c_1.strategy = w.strategy) AND (c_1.did IS NOT NULL))
                  ORDER BY c_1.seq DESC
                 LIMIT 1) d)
          WHERE ((w.place <= 10) AND (d.told <> ''::text))
        )
 SELECT model AS model_name,
    count(*) AS total_tests,
    ((count(*) FILTER (WHERE (level = 2)))::double precision / (count(*))::double precision) AS success_rate,
    ( SELECT (jsonb_agg(i.issue_type ORDER BY i.place))::text AS jsonb_agg
           FROM issues i
          WHERE ((i.project_id = c.project_id) AND (i.model = c.model) AND (i.place <= 10))) AS common_issues,
    COALESCE(( SELECT (jsonb_agg(x.told ORDER BY x.place))::text AS jsonb_agg
           FROM fixes x
          WHERE ((x.project_id = c.project_id) AND (x.model = c.model))), '[]'::text) AS effective_fixes,
    max(at) AS last_updated,
    (((((count(*) FILTER (WHERE (level >= 1)) || ' of '::text) || count(*)) || ' fixes were applied, '::text) || count(*) FILTER (WHERE (level = 2))) || ' of them verified'::text) AS performance_notes,
    project_id
   FROM counting c
  GROUP BY project_id, model;
ALTER VIEW hardwon.model_characteristics OWNER TO hardwon_owner;
CREATE TABLE hardwon.record_file (
    project_id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    number integer NOT NULL,
    path text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE ONLY hardwon.record_file FORCE ROW LEVEL SECURITY;
ALTER TABLE hardwon.record_file OWNER TO hardwon_owner;
CREATE SEQUENCE hardwon.record_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE hardwon.record_seq OWNER TO hardwon_owner;
CREATE TABLE hardwon.record_tag (
    project_id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    tag text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE ONLY hardwon.record_tag FORCE ROW LEVEL SECURITY;
ALTER TABLE hardwon.record_tag OWNER TO hardwon_owner;
CREATE TABLE hardwon.record_text (
    project_id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    terms text NOT NULL COLLATE pg_catalog."C",
    length integer NOT NULL,
    vector tsvector NOT NULL
);
ALTER TABLE ONLY hardwon.record_text FORCE ROW LEVEL SECURITY;
ALTER TABLE hardwon.record_text OWNER TO hardwon_owner;
CREATE TABLE hardwon.record_vector (
    project_id text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    vector bytea NOT NULL,
    dimension bigint NOT NULL,
    embedding hardwon.vector
);
ALTER TABLE ONLY hardwon.record_vector FORCE ROW LEVEL SECURITY;
ALTER TABLE hardwon.record_vector OWNER TO hardwon_owner;
CREATE TABLE hardwon.request (
    project_id text NOT NULL COLLATE pg_catalog."C",
    key bytea NOT NULL,
    said bytea NOT NULL,
    ids text NOT NULL COLLATE pg_catalog."C",
    at_us bigint NOT NULL
);
ALTER TABLE ONLY hardwon.request FORCE ROW LEVEL SECURITY;
ALTER TABLE hardwon.request OWNER TO hardwon_owner;
CREATE TABLE hardwon.state (
    project_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    value bigint NOT NULL
);
ALTER TABLE ONLY hardwon.state FORCE ROW LEVEL SECURITY;
ALTER TABLE hardwon.state OWNER TO hardwon_owner;
CREATE TABLE hardwon.tally (
    project_id text NOT NULL COLLATE pg_catalog."C",
    scope text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    item text NOT NULL COLLATE pg_catalog."C",
    day bigint NOT NULL,
    author text NOT NULL COLLATE pg_catalog."C",
    vouched bigint NOT NULL,
    total bigint NOT NULL,
    best bigint NOT NULL,
    last_us bigint NOT NULL,
    last_id text NOT NULL COLLATE pg_catalog."C",
    level0 bigint NOT NULL,
    level1 bigint NOT NULL,
    level2 bigint NOT NULL,
    level3 bigint NOT NULL,
    level4 bigint NOT NULL,
    level5 bigint NOT NULL,
    level6 bigint NOT NULL,
    level7 bigint NOT NULL,
    level8 bigint NOT NULL,
    level9 bigint NOT NULL,
    level10 bigint NOT NULL,
    level11 bigint NOT NULL,
    level12 bigint NOT NULL,
    level13 bigint NOT NULL,
    level14 bigint NOT NULL,
    level15 bigint NOT NULL,
    level16 bigint NOT NULL,
    level17 bigint NOT NULL,
    level18 bigint NOT NULL,
    level19 bigint NOT NULL
)
WITH (fillfactor='80');
ALTER TABLE ONLY hardwon.tally FORCE ROW LEVEL SECURITY;
ALTER TABLE hardwon.tally OWNER TO hardwon_owner;
CREATE TABLE hardwon.term_count (
    project_id text NOT NULL COLLATE pg_catalog."C",
    term text NOT NULL COLLATE pg_catalog."C",
    documents bigint NOT NULL
)
WITH (fillfactor='80');
ALTER TABLE ONLY hardwon.term_count FORCE ROW LEVEL SECURITY;
ALTER TABLE hardwon.term_count OWNER TO hardwon_owner;
CREATE TABLE hardwon.token (
    id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    scope text NOT NULL COLLATE pg_catalog."C",
    projects text COLLATE pg_catalog."C",
    created_us bigint NOT NULL,
    expires_us bigint,
    revoked_us bigint
);
ALTER TABLE ONLY hardwon.token FORCE ROW LEVEL SECURITY;
ALTER TABLE hardwon.token OWNER TO hardwon_owner;
INSERT INTO hardwon.embedder VALUES ('released', 'words', 3);
INSERT INTO hardwon.embedder VALUES ('it''s another', 'words', 3);
INSERT INTO hardwon.event VALUES ('released', '01a1e59f-3c4f-79bc-b404-45707f388565', '019b76da-a800-73de-a162-70f334ccde1d', 'status', 1767225606000000, '{"id":"01a1e59f-3c4f-79bc-b404-45707f388565","record_id":"019b76da-a800-73de-a162-70f334ccde1d","kind":"status","at":"2026-01-01T00:00:06Z","by":"test_runner","status":"verified","verified_by":"test_runner","verification_id":"ci-1"}', 'test_runner', 'verified', NULL, NULL);
INSERT INTO hardwon.event VALUES ('released', '019b76da-c358-71b0-9c12-93add6b349a4', '019b76da-a800-73de-a162-70f334ccde1d', 'credited', 1767225607000000, '{"id":"019b76da-c358-71b0-9c12-93add6b349a4","record_id":"019b76da-a800-73de-a162-70f334ccde1d","kind":"credited","at":"2026-01-01T00:00:07Z","by":"bob","helped":true}', 'bob', NULL, NULL, NULL);
INSERT INTO hardwon.event VALUES ('released', '019b76da-c740-7880-a1d3-004cddc45c95', '019b76da-bb88-7f2a-b993-6483378b7bff', 'forgotten', 1767225608000000, '{"id":"019b76da-c740-7880-a1d3-004cddc45c95","record_id":"019b76da-bb88-7f2a-b993-6483378b7bff","kind":"forgotten","at":"2026-01-01T00:00:08Z","by":"user"}', 'user', NULL, NULL, NULL);
INSERT INTO hardwon.event VALUES ('released', '019b76da-cb28-7251-8630-1e285ad69377', '019b76da-cb28-751b-b037-358858107908', 'status', 1767225609000000, '{"id":"019b76da-cb28-7251-8630-1e285ad69377","record_id":"019b76da-cb28-751b-b037-358858107908","kind":"status","at":"2026-01-01T00:00:09Z","by":"user","status":"verified"}', 'user', 'verified', NULL, NULL);
INSERT INTO hardwon.event VALUES ('it''s another', '01a1e59f-3d52-719c-a676-891ab9ee29e8', '019b76da-d2f8-73e0-a901-5d1430fab732', 'status', 1767225617000000, '{"id":"01a1e59f-3d52-719c-a676-891ab9ee29e8","record_id":"019b76da-d2f8-73e0-a901-5d1430fab732","kind":"status","at":"2026-01-01T00:00:17Z","by":"test_runner","status":"verified","verified_by":"test_runner","verification_id":"ci-1"}', 'test_runner', 'verified', NULL, NULL);
INSERT INTO hardwon.event VALUES ('it''s another', '019b76da-ee50-7d24-afa6-ec927ec87c71', '019b76da-d2f8-73e0-a901-5d1430fab732', 'credited', 1767225618000000, '{"id":"019b76da-ee50-7d24-afa6-ec927ec87c71","record_id":"019b76da-d2f8-73e0-a901-5d1430fab732","kind":"credited","at":"2026-01-01T00:00:18Z","by":"bob","helped":true}', 'bob', NULL, NULL, NULL);
INSERT INTO hardwon.event VALUES ('it''s another', '019b76da-f238-74e7-9ac3-d72d231b2e4a', '019b76da-e680-7d47-bb51-098071e9efca', 'forgotten', 1767225619000000, '{"id":"019b76da-f238-74e7-9ac3-d72d231b2e4a","record_id":"019b76da-e680-7d47-bb51-098071e9efca","kind":"forgotten","at":"2026-01-01T00:00:19Z","by":"user"}', 'user', NULL, NULL, NULL);
INSERT INTO hardwon.event VALUES ('it''s another', '019b76da-f620-79dc-a0fb-b0f9299c6863', '019b76da-f620-78d5-87d8-5e42056ceae8', 'status', 1767225620000000, '{"id":"019b76da-f620-79dc-a0fb-b0f9299c6863","record_id":"019b76da-f620-78d5-87d8-5e42056ceae8","kind":"status","at":"2026-01-01T00:00:20Z","by":"user","status":"verified"}', 'user', 'verified', NULL, NULL);
INSERT INTO hardwon.fix VALUES ('released', 5, '2026-01-01T00:00:04.000000+00:00', 'TIMEOUT on qwen2.5 [a4a59531b6f2b464]', 'a4a59531b6f2b464', 'qwen2.5:7b', 'TIMEOUT', '2a1a72a01328a15e', 1, '{"fix_commands": ["sleep 1"], "analysis": ""}', 'sleep 1', true, '', 'claude', 'slow', '["sleep 1"]', true, false, 2.5, '{"os": "Linux"}', NULL);
INSERT INTO hardwon.fix VALUES ('it''s another', 12, '2026-01-01T00:00:15.000000+00:00', 'TIMEOUT on qwen2.5 [a4a59531b6f2b464]', 'a4a59531b6f2b464', 'qwen2.5:7b', 'TIMEOUT', '2a1a72a01328a15e', 1, '{"fix_commands": ["sleep 1"], "analysis": ""}', 'sleep 1', true, '', 'claude', 'slow', '["sleep 1"]', true, false, 2.5, '{"os": "Linux"}', NULL);
INSERT INTO hardwon.granted VALUES ('hardwon_released_74d6360d3c8203e1_reader', 'released', 'reader');
INSERT INTO hardwon.granted VALUES ('hardwon_released_74d6360d3c8203e1_writer', 'released', 'writer');
INSERT INTO hardwon.granted VALUES ('hardwon_released_74d6360d3c8203e1_governor', 'released', 'governor');
INSERT INTO hardwon.granted VALUES ('hardwon_it_s_another_f5fb226674017adc_reader', 'it''s another', 'reader');
INSERT INTO hardwon.granted VALUES ('hardwon_it_s_another_f5fb226674017adc_writer', 'it''s another', 'writer');
INSERT INTO hardwon.granted VALUES ('hardwon_it_s_another_f5fb226674017adc_governor', 'it''s another', 'governor');
INSERT INTO hardwon.migrated VALUES (1);
INSERT INTO hardwon.record VALUES ('released', 2, '019b76da-abe8-7f3c-aa92-7bfb5f980d85', 'fact', 1767225601000000, 'agent', NULL, NULL, NULL, NULL, NULL, '{"kind":"fact","id":"019b76da-abe8-7f3c-aa92-7bfb5f980d85","metadata":{"source":{"type":"agent_execution","id":"","author":"agent"},"context":{"timestamp":"2026-01-01T00:00:01Z","git_commit":"98e9c9bfaf24b0c1de0831efeab5f0fa22869bf8","git_branch":"w-pg","related_files":[{"path":"src/io.py","hash":""}]},"validation":{"status":"hypothesis"},"tags":["py"],"project_id":"released"},"content":"Python 3.11 has no itertools.batched.","fact_type":"observation","confidence":0.9,"entities":{"files":[],"functions":[],"libraries":["itertools"]}}', '\x5c148e5ebe396b39', 'hypothesis', NULL, 0, 0, NULL, NULL);
INSERT INTO hardwon.record VALUES ('released', 3, '019b76da-afd0-7ca2-83f8-7768c47aee46', 'trajectory', 1767225602000000, 'agent', NULL, NULL, NULL, NULL, NULL, '{"kind":"trajectory","id":"019b76da-afd0-7ca2-83f8-7768c47aee46","metadata":{"source":{"type":"agent_execution","id":"","author":"agent"},"context":{"timestamp":"2026-01-01T00:00:02Z","git_commit":"98e9c9bfaf24b0c1de0831efeab5f0fa22869bf8","git_branch":"w-pg","related_files":[]},"validation":{"status":"hypothesis"},"tags":[],"project_id":"released"},"task":"make it pass","steps":[{"action":"pytest","observation":"an empty page","reward":-1.0}],"final_reward":0.0}', '\x3b1c294053aed5c7', 'hypothesis', NULL, 0, 0, false, NULL);
INSERT INTO hardwon.record VALUES ('released', 4, '019b76da-b3b8-722d-aa8e-bede574e23de', 'episode', 1767225603000000, 'agent', NULL, NULL, 'triage', NULL, NULL, '{"kind":"episode","id":"019b76da-b3b8-722d-aa8e-bede574e23de","metadata":{"source":{"type":"agent_execution","id":"","author":"agent"},"context":{"timestamp":"2026-01-01T00:00:03Z","git_commit":"98e9c9bfaf24b0c1de0831efeab5f0fa22869bf8","git_branch":"w-pg","related_files":[]},"validation":{"status":"hypothesis"},"tags":[],"project_id":"released"},"task_id":"triage","score":0.4,"steps":3,"trajectory_summary":"went wrong","mistakes":["guessed"],"successes":["read the log"],"mistake_cards":[{"mistake_type":"guess","worker_id":2,"evidence":"","lesson":"Avoid repeating this failure."}]}', '\xbb1ab09eb8a0c42b', 'hypothesis', NULL, 0, 0, false, NULL);
INSERT INTO hardwon.record VALUES ('released', 5, '019b76da-b7a0-7f83-9c71-327c7bd47ec5', 'fix', 1767225604000000, 'agent', NULL, NULL, NULL, 'qwen2.5:7b', 'TIMEOUT', '{"kind":"fix","id":"019b76da-b7a0-7f83-9c71-327c7bd47ec5","metadata":{"source":{"type":"agent_execution","id":"","author":"agent"},"context":{"timestamp":"2026-01-01T00:00:04Z","git_commit":"98e9c9bfaf24b0c1de0831efeab5f0fa22869bf8","git_branch":"w-pg","related_files":[]},"validation":{"status":"hypothesis"},"tags":[],"project_id":"released"},"issue":{"model":"qwen2.5:7b","issue_type":"TIMEOUT","description":""},"analysis":"slow","fix_commands":["sleep 1"],"fix_success":true,"verification_success":false,"execution_time_seconds":2.5,"system_info":{"os":"Linux"},"fixer_type":"claude"}', '\xbe4d29a2f26c2769', 'hypothesis', NULL, 0, 0, false, NULL);
INSERT INTO hardwon.record VALUES ('released', 7, '019b76da-cb28-751b-b037-358858107908', 'decision', 1767225609000000, 'user', 'rollback', NULL, NULL, NULL, NULL, '{"kind":"decision","id":"019b76da-cb28-751b-b037-358858107908","metadata":{"source":{"type":"agent_execution","id":"","author":"user"},"context":{"timestamp":"2026-01-01T00:00:09Z","git_commit":"","git_branch":"","related_files":[]},"validation":{"status":"hypothesis"},"tags":[],"project_id":"released"},"action":"rollback","target":"nobody","replacement":"","text":"","tasks":[],"evidence":[],"reason":"an example of a decision"}', '\x06b88d0be97b1fc8', 'verified', '{"status":"verified"}', 0, 0, NULL, NULL);
INSERT INTO hardwon.record VALUES ('it''s another', 14, '019b76da-f620-78d5-87d8-5e42056ceae8', 'decision', 1767225620000000, 'user', 'rollback', NULL, NULL, NULL, NULL, '{"kind":"decision","id":"019b76da-f620-78d5-87d8-5e42056ceae8","metadata":{"source":{"type":"agent_execution","id":"","author":"user"},"context":{"timestamp":"2026-01-01T00:00:20Z","git_commit":"","git_branch":"","related_files":[]},"validation":{"status":"hypothesis"},"tags":[],"project_id":"it''s another"},"action":"rollback","target":"nobody","replacement":"","text":"","tasks":[],"evidence":[],"reason":"an example of a decision"}', '\x9a857085c868f871', 'verified', '{"status":"verified"}', 0, 0, NULL, NULL);
INSERT INTO hardwon.record VALUES ('released', 1, '019b76da-a800-73de-a162-70f334ccde1d', 'experience', 1767225600000000, 'agent', 'success', 'code_interpreter', NULL, NULL, NULL, '{"kind":"experience","id":"019b76da-a800-73de-a162-70f334ccde1d","metadata":{"source":{"type":"agent_execution","id":"","author":"agent"},"context":{"timestamp":"2026-01-01T00:00:00Z","git_commit":"98e9c9bfaf24b0c1de0831efeab5f0fa22869bf8","git_branch":"w-pg","related_files":[]},"validation":{"status":"hypothesis"},"tags":[],"project_id":"released"},"content":"Fixed the flaky test in tests/test_io.py","outcome":"success","tool":"code_interpreter","summary":"fixed_the_flaky_test_in_tests","task_type":"debug","ticket":7}', '\x6439de158f64c4e0', 'verified', '{"status":"verified","verified_by":"test_runner","verification_id":"ci-1"}', 1, 0, true, '{"tool": "code_interpreter", "ticket": "7", "outcome": "success", "summary": "fixed_the_flaky_test_in_tests", "task_type": "debug"}');
INSERT INTO hardwon.record VALUES ('it''s another', 9, '019b76da-d6e0-79fa-b593-fa6e68b9a2f3', 'fact', 1767225612000000, 'agent', NULL, NULL, NULL, NULL, NULL, '{"kind":"fact","id":"019b76da-d6e0-79fa-b593-fa6e68b9a2f3","metadata":{"source":{"type":"agent_execution","id":"","author":"agent"},"context":{"timestamp":"2026-01-01T00:00:12Z","git_commit":"98e9c9bfaf24b0c1de0831efeab5f0fa22869bf8","git_branch":"w-pg","related_files":[{"path":"src/io.py","hash":""}]},"validation":{"status":"hypothesis"},"tags":["py"],"project_id":"it''s another"},"content":"Python 3.11 has no itertools.batched.","fact_type":"observation","confidence":0.9,"entities":{"files":[],"functions":[],"libraries":["itertools"]}}', '\xfccb5269d6b4d4ad', 'hypothesis', NULL, 0, 0, NULL, NULL);
INSERT INTO hardwon.record VALUES ('it''s another', 10, '019b76da-dac8-7c7d-8cc3-ae01f6465157', 'trajectory', 1767225613000000, 'agent', NULL, NULL, NULL, NULL, NULL, '{"kind":"trajectory","id":"019b76da-dac8-7c7d-8cc3-ae01f6465157","metadata":{"source":{"type":"agent_execution","id":"","author":"agent"},"context":{"timestamp":"2026-01-01T00:00:13Z","git_commit":"98e9c9bfaf24b0c1de0831efeab5f0fa22869bf8","git_branch":"w-pg","related_files":[]},"validation":{"status":"hypothesis"},"tags":[],"project_id":"it''s another"},"task":"make it pass","steps":[{"action":"pytest","observation":"an empty page","reward":-1.0}],"final_reward":0.0}', '\xe8b28f40ecef8818', 'hypothesis', NULL, 0, 0, false, NULL);
INSERT INTO hardwon.record VALUES ('it''s another', 11, '019b76da-deb0-7981-92a3-5d5121cea5fe', 'episode', 1767225614000000, 'agent', NULL, NULL, 'triage', NULL, NULL, '{"kind":"episode","id":"019b76da-deb0-7981-92a3-5d5121cea5fe","metadata":{"source":{"type":"agent_execution","id":"","author":"agent"},"context":{"timestamp":"2026-01-01T00:00:14Z","git_commit":"98e9c9bfaf24b0c1de0831efeab5f0fa22869bf8","git_branch":"w-pg","related_files":[]},"validation":{"status":"hypothesis"},"tags":[],"project_id":"it''s another"},"task_id":"triage","score":0.4,"steps":3,"trajectory_summary":"went wrong","mistakes":["guessed"],"successes":["read the log"],"mistake_cards":[{"mistake_type":"guess","worker_id":2,"evidence":"","lesson":"Avoid repeating this failure."}]}', '\xcdf427b06310daba', 'hypothesis', NULL, 0, 0, false, NULL);
INSERT INTO hardwon.record VALUES ('it''s another', 12, '019b76da-e298-7731-9511-3f3744af8676', 'fix', 1767225615000000, 'agent', NULL, NULL, NULL, 'qwen2.5:7b', 'TIMEOUT', '{"kind":"fix","id":"019b76da-e298-7731-9511-3f3744af8676","metadata":{"source":{"type":"agent_execution","id":"","author":"agent"},"context":{"timestamp":"2026-01-01T00:00:15Z","git_commit":"98e9c9bfaf24b0c1de0831efeab5f0fa22869bf8","git_branch":"w-pg","related_files":[]},"validation":{"status":"hypothesis"},"tags":[],"project_id":"it''s another"},"issue":{"model":"qwen2.5:7b","issue_type":"TIMEOUT","description":""},"analysis":"slow","fix_commands":["sleep 1"],"fix_success":true,"verification_success":false,"execution_time_seconds":2.5,"system_info":{"os":"Linux"},"fixer_type":"claude"}', '\x0dca8c8617e788fa', 'hypothesis', NULL, 0, 0, false, NULL);
INSERT INTO hardwon.record VALUES ('it''s another', 8, '019b76da-d2f8-73e0-a901-5d1430fab732', 'experience', 1767225611000000, 'agent', 'success', 'code_interpreter', NULL, NULL, NULL, '{"kind":"experience","id":"019b76da-d2f8-73e0-a901-5d1430fab732","metadata":{"source":{"type":"agent_execution","id":"","author":"agent"},"context":{"timestamp":"2026-01-01T00:00:11Z","git_commit":"98e9c9bfaf24b0c1de0831efeab5f0fa22869bf8","git_branch":"w-pg","related_files":[]},"validation":{"status":"hypothesis"},"tags":[],"project_id":"it''s another"},"content":"Fixed the flaky test in tests/test_io.py","outcome":"success","tool":"code_interpreter","summary":"fixed_the_flaky_test_in_tests","task_type":"debug","ticket":7}', '\xcf8ce734aa6c13d4', 'verified', '{"status":"verified","verified_by":"test_runner","verification_id":"ci-1"}', 1, 0, true, '{"tool": "code_interpreter", "ticket": "7", "outcome": "success", "summary": "fixed_the_flaky_test_in_tests", "task_type": "debug"}');
INSERT INTO hardwon.record_file VALUES ('released', 2, 0, 'src/io.py');
INSERT INTO hardwon.record_file VALUES ('it''s another', 9, 0, 'src/io.py');
INSERT INTO hardwon.record_key VALUES ('released', 1, 'given:b39e05520a9ac8d7');
INSERT INTO hardwon.record_key VALUES ('released', 2, 'fact:57ea4b0b22c916d02dbdd53ab5f87cbc');
INSERT INTO hardwon.record_key VALUES ('released', 3, 'action:e48db3aa166524fe');
INSERT INTO hardwon.record_key VALUES ('released', 5, 'action:ad166f41e153818f');
INSERT INTO hardwon.record_key VALUES ('released', 5, 'signature:662d8cfeeda357ef');
INSERT INTO hardwon.record_key VALUES ('released', 5, 'signature:a4a59531b6f2b464');
INSERT INTO hardwon.record_key VALUES ('released', 5, 'strategy:2a1a72a01328a15e');
INSERT INTO hardwon.record_key VALUES ('released', 7, 'rollback:nobody');
INSERT INTO hardwon.record_key VALUES ('it''s another', 8, 'given:b39e05520a9ac8d7');
INSERT INTO hardwon.record_key VALUES ('it''s another', 9, 'fact:57ea4b0b22c916d02dbdd53ab5f87cbc');
INSERT INTO hardwon.record_key VALUES ('it''s another', 10, 'action:e48db3aa166524fe');
INSERT INTO hardwon.record_key VALUES ('it''s another', 12, 'action:ad166f41e153818f');
INSERT INTO hardwon.record_key VALUES ('it''s another', 12, 'signature:662d8cfeeda357ef');
INSERT INTO hardwon.record_key VALUES ('it''s another', 12, 'signature:a4a59531b6f2b464');
INSERT INTO hardwon.record_key VALUES ('it''s another', 12, 'strategy:2a1a72a01328a15e');
INSERT INTO hardwon.record_key VALUES ('it''s another', 14, 'rollback:nobody');
INSERT INTO hardwon.record_tag VALUES ('released', 2, 'py');
INSERT INTO hardwon.record_tag VALUES ('it''s another', 9, 'py');
INSERT INTO hardwon.record_text VALUES ('released', 1, 'fixed the flaky test in tests/test_io.py tests test io py fixed the flaky test in tests code_interpreter code interpreter debug', 20, '''f8b6112fixed'' ''f8b6112flaky'' ''f8b6112in'' ''f8b6112test'' ''f8b6112tests'' ''f8b6112the'' ''f8b6113test'' ''f8b611:code'' ''f8b611:code_interpreter'' ''f8b611:debug'' ''f8b611:fixed'' ''f8b611:flaky'' ''f8b611:in'' ''f8b611:interpreter'' ''f8b611:io'' ''f8b611:py'' ''f8b611:test'' ''f8b611:tests'' ''f8b611:tests/test_io.py'' ''f8b611:the''');
INSERT INTO hardwon.record_text VALUES ('released', 2, 'python 3.11 11 has no itertools.batched itertools batched itertools py src/io.py src io py', 14, '''f8b6112itertools'' ''f8b6112py'' ''f8b611:11'' ''f8b611:3.11'' ''f8b611:batched'' ''f8b611:has'' ''f8b611:io'' ''f8b611:itertools'' ''f8b611:itertools.batched'' ''f8b611:no'' ''f8b611:py'' ''f8b611:python'' ''f8b611:src'' ''f8b611:src/io.py''');
INSERT INTO hardwon.record_text VALUES ('released', 3, 'make it pass pytest an empty page', 7, '''f8b611:an'' ''f8b611:empty'' ''f8b611:it'' ''f8b611:make'' ''f8b611:page'' ''f8b611:pass'' ''f8b611:pytest''');
INSERT INTO hardwon.record_text VALUES ('released', 4, 'triage went wrong guessed read the log guess avoid repeating this failure', 12, '''f8b611:avoid'' ''f8b611:failure'' ''f8b611:guess'' ''f8b611:guessed'' ''f8b611:log'' ''f8b611:read'' ''f8b611:repeating'' ''f8b611:the'' ''f8b611:this'' ''f8b611:triage'' ''f8b611:went'' ''f8b611:wrong''');
INSERT INTO hardwon.record_text VALUES ('released', 5, 'qwen2.5:7b qwen timeout slow sleep 1 claude', 7, '''f8b611:1'' ''f8b611:claude'' ''f8b611:qwen'' ''f8b611:qwen2.5:7b'' ''f8b611:sleep'' ''f8b611:slow'' ''f8b611:timeout''');
INSERT INTO hardwon.record_text VALUES ('released', 7, '', 0, '');
INSERT INTO hardwon.record_text VALUES ('it''s another', 8, 'fixed the flaky test in tests/test_io.py tests test io py fixed the flaky test in tests code_interpreter code interpreter debug', 20, '''6b8e992fixed'' ''6b8e992flaky'' ''6b8e992in'' ''6b8e992test'' ''6b8e992tests'' ''6b8e992the'' ''6b8e993test'' ''6b8e99:code'' ''6b8e99:code_interpreter'' ''6b8e99:debug'' ''6b8e99:fixed'' ''6b8e99:flaky'' ''6b8e99:in'' ''6b8e99:interpreter'' ''6b8e99:io'' ''6b8e99:py'' ''6b8e99:test'' ''6b8e99:tests'' ''6b8e99:tests/test_io.py'' ''6b8e99:the''');
INSERT INTO hardwon.record_text VALUES ('it''s another', 9, 'python 3.11 11 has no itertools.batched itertools batched itertools py src/io.py src io py', 14, '''6b8e992itertools'' ''6b8e992py'' ''6b8e99:11'' ''6b8e99:3.11'' ''6b8e99:batched'' ''6b8e99:has'' ''6b8e99:io'' ''6b8e99:itertools'' ''6b8e99:itertools.batched'' ''6b8e99:no'' ''6b8e99:py'' ''6b8e99:python'' ''6b8e99:src'' ''6b8e99:src/io.py''');
INSERT INTO hardwon.record_text VALUES ('it''s another', 10, 'make it pass pytest an empty page', 7, '''6b8e99:an'' ''6b8e99:empty'' ''6b8e99:it'' ''6b8e99:make'' ''6b8e99:page'' ''6b8e99:pass'' ''6b8e99:pytest''');
INSERT INTO hardwon.record_text VALUES ('it''s another', 11, 'triage went wrong guessed read the log guess avoid repeating this failure', 12, '''6b8e99:avoid'' ''6b8e99:failure'' ''6b8e99:guess'' ''6b8e99:guessed'' ''6b8e99:log'' ''6b8e99:read'' ''6b8e99:repeating'' ''6b8e99:the'' ''6b8e99:this'' ''6b8e99:triage'' ''6b8e99:went'' ''6b8e99:wrong''');
INSERT INTO hardwon.record_text VALUES ('it''s another', 12, 'qwen2.5:7b qwen timeout slow sleep 1 claude', 7, '''6b8e99:1'' ''6b8e99:claude'' ''6b8e99:qwen'' ''6b8e99:qwen2.5:7b'' ''6b8e99:sleep'' ''6b8e99:slow'' ''6b8e99:timeout''');
INSERT INTO hardwon.record_text VALUES ('it''s another', 14, '', 0, '');
INSERT INTO hardwon.record_vector VALUES ('released', 1, '\x0000803f0000000000000000', 3, '[1,0,0]');
INSERT INTO hardwon.record_vector VALUES ('it''s another', 8, '\x0000803f0000000000000000', 3, '[1,0,0]');
INSERT INTO hardwon.state VALUES ('released', 'texts whose terms are counted', 6);
INSERT INTO hardwon.state VALUES ('released', 'words of those texts', 60);
INSERT INTO hardwon.state VALUES ('released', 'number of the last of them', 7);
INSERT INTO hardwon.state VALUES ('it''s another', 'texts whose terms are counted', 6);
INSERT INTO hardwon.state VALUES ('it''s another', 'words of those texts', 60);
INSERT INTO hardwon.state VALUES ('it''s another', 'number of the last of them', 14);
INSERT INTO hardwon.tally VALUES ('released', 'act.action', 'c4e91591096d7ec9', '', 20454, 'agent', 0, 0, 0, 0, '', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('released', 'act.all', '', '', 20454, 'agent', 0, 0, 0, 0, '', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('released', 'act.situation', 'first', '', 20454, 'agent', 0, 0, 0, 0, '', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('released', 'act.word', 'pytest', '', 20454, 'agent', 0, 0, 0, 0, '', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('released', 'avoid', 'triage', '0ea3d7fbc74c566b', 20454, 'agent', 0, 400000, 400000, 1767225603000000, '019b76da-b3b8-722d-aa8e-bede574e23de', 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('released', 'card', 'triage', 'guess
87ab08804c328ed7', 20454, 'agent', 0, 400000, 400000, 1767225603000000, '019b76da-b3b8-722d-aa8e-bede574e23de', 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('released', 'episode', '', '', 20454, 'agent', 0, 0, 0, 0, '', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('released', 'score', 'triage', '', 20454, 'agent', 0, 400000, 400000, 1767225603000000, '019b76da-b3b8-722d-aa8e-bede574e23de', 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('released', 'works', 'triage', 'd1c565ff09bbe5a2', 20454, 'agent', 0, 400000, 400000, 1767225603000000, '019b76da-b3b8-722d-aa8e-bede574e23de', 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('released', 'fix', '', 'claude', 20454, 'agent', 0, 0, 0, 0, '', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('released', 'fix.hour', 'TIMEOUT', '00', 20454, 'agent', 0, 0, 0, 0, '', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('released', 'fix.model', 'qwen2.5:7b', 'TIMEOUT
claude', 20454, 'agent', 0, 0, 0, 1767225604000000, '019b76da-b7a0-7f83-9c71-327c7bd47ec5', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('released', 'fix.signature', '662d8cfeeda357ef', 'claude', 20454, 'agent', 0, 0, 0, 1767225604000000, '019b76da-b7a0-7f83-9c71-327c7bd47ec5', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('released', 'fix.type', 'TIMEOUT', 'claude', 20454, 'agent', 0, 0, 0, 1767225604000000, '019b76da-b7a0-7f83-9c71-327c7bd47ec5', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('released', 'strategy.model', 'qwen2.5:7b', 'TIMEOUT
2a1a72a01328a15e', 20454, 'agent', 0, 0, 0, 1767225604000000, '019b76da-b7a0-7f83-9c71-327c7bd47ec5', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('released', 'strategy.signature', '662d8cfeeda357ef', '2a1a72a01328a15e', 20454, 'agent', 0, 0, 0, 1767225604000000, '019b76da-b7a0-7f83-9c71-327c7bd47ec5', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('released', 'strategy.type', 'TIMEOUT', '2a1a72a01328a15e', 20454, 'agent', 0, 0, 0, 1767225604000000, '019b76da-b7a0-7f83-9c71-327c7bd47ec5', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'tool', 'code_interpreter', '', 20454, 'agent', 1, 0, 0, 0, '', 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('released', 'tool', 'code_interpreter', '', 20454, 'agent', 1, 0, 0, 0, '', 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('released', 'tool', 'code_interpreter', 'debug', 20454, 'agent', 1, 0, 0, 0, '', 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'tool', 'code_interpreter', 'debug', 20454, 'agent', 1, 0, 0, 0, '', 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'act.action', 'c4e91591096d7ec9', '', 20454, 'agent', 0, 0, 0, 0, '', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'act.all', '', '', 20454, 'agent', 0, 0, 0, 0, '', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'act.situation', 'first', '', 20454, 'agent', 0, 0, 0, 0, '', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'act.word', 'pytest', '', 20454, 'agent', 0, 0, 0, 0, '', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'avoid', 'triage', '0ea3d7fbc74c566b', 20454, 'agent', 0, 400000, 400000, 1767225614000000, '019b76da-deb0-7981-92a3-5d5121cea5fe', 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'card', 'triage', 'guess
87ab08804c328ed7', 20454, 'agent', 0, 400000, 400000, 1767225614000000, '019b76da-deb0-7981-92a3-5d5121cea5fe', 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'episode', '', '', 20454, 'agent', 0, 0, 0, 0, '', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'score', 'triage', '', 20454, 'agent', 0, 400000, 400000, 1767225614000000, '019b76da-deb0-7981-92a3-5d5121cea5fe', 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'works', 'triage', 'd1c565ff09bbe5a2', 20454, 'agent', 0, 400000, 400000, 1767225614000000, '019b76da-deb0-7981-92a3-5d5121cea5fe', 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'fix', '', 'claude', 20454, 'agent', 0, 0, 0, 0, '', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'fix.hour', 'TIMEOUT', '00', 20454, 'agent', 0, 0, 0, 0, '', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'fix.model', 'qwen2.5:7b', 'TIMEOUT
claude', 20454, 'agent', 0, 0, 0, 1767225615000000, '019b76da-e298-7731-9511-3f3744af8676', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'fix.signature', '662d8cfeeda357ef', 'claude', 20454, 'agent', 0, 0, 0, 1767225615000000, '019b76da-e298-7731-9511-3f3744af8676', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'fix.type', 'TIMEOUT', 'claude', 20454, 'agent', 0, 0, 0, 1767225615000000, '019b76da-e298-7731-9511-3f3744af8676', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'strategy.model', 'qwen2.5:7b', 'TIMEOUT
2a1a72a01328a15e', 20454, 'agent', 0, 0, 0, 1767225615000000, '019b76da-e298-7731-9511-3f3744af8676', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'strategy.signature', '662d8cfeeda357ef', '2a1a72a01328a15e', 20454, 'agent', 0, 0, 0, 1767225615000000, '019b76da-e298-7731-9511-3f3744af8676', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.tally VALUES ('it''s another', 'strategy.type', 'TIMEOUT', '2a1a72a01328a15e', 20454, 'agent', 0, 0, 0, 1767225615000000, '019b76da-e298-7731-9511-3f3744af8676', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO hardwon.term_count VALUES ('released', 'code', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'code_interpreter', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'debug', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'fixed', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'flaky', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'in', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'interpreter', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'test', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'tests', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'tests/test_io.py', 1);
INSERT INTO hardwon.term_count VALUES ('released', '11', 1);
INSERT INTO hardwon.term_count VALUES ('released', '3.11', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'batched', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'has', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'io', 2);
INSERT INTO hardwon.term_count VALUES ('released', 'itertools', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'itertools.batched', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'no', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'py', 2);
INSERT INTO hardwon.term_count VALUES ('released', 'python', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'src', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'src/io.py', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'an', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'empty', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'it', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'make', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'page', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'pass', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'pytest', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'avoid', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'failure', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'guess', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'guessed', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'log', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'read', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'repeating', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'the', 2);
INSERT INTO hardwon.term_count VALUES ('released', 'this', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'triage', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'went', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'wrong', 1);
INSERT INTO hardwon.term_count VALUES ('released', '1', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'claude', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'qwen', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'qwen2.5:7b', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'sleep', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'slow', 1);
INSERT INTO hardwon.term_count VALUES ('released', 'timeout', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'code', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'code_interpreter', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'debug', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'fixed', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'flaky', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'in', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'interpreter', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'test', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'tests', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'tests/test_io.py', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', '11', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', '3.11', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'batched', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'has', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'io', 2);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'itertools', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'itertools.batched', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'no', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'py', 2);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'python', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'src', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'src/io.py', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'an', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'empty', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'it', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'make', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'page', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'pass', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'pytest', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'avoid', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'failure', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'guess', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'guessed', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'log', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'read', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'repeating', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'the', 2);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'this', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'triage', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'went', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'wrong', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', '1', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'claude', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'qwen', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'qwen2.5:7b', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'sleep', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'slow', 1);
INSERT INTO hardwon.term_count VALUES ('it''s another', 'timeout', 1);
INSERT INTO hardwon.token VALUES ('2c8127c5aa18', 'ci', '\xc8f7adda461e6738b86cc8266fa7aedb93875bc1b8ba47c7cd93312f1578dc0d', 'read', NULL, 1767225610000000, 1775001610000000, NULL);
SELECT pg_catalog.setval('hardwon.record_seq', 14, true);
ALTER TABLE ONLY hardwon.embedder
    ADD CONSTRAINT embedder_pkey PRIMARY KEY (project_id);
ALTER TABLE ONLY hardwon.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (project_id, id);
ALTER TABLE ONLY hardwon.fix
    ADD CONSTRAINT fix_pkey PRIMARY KEY (project_id, seq);
ALTER TABLE ONLY hardwon.granted
    ADD CONSTRAINT granted_pkey PRIMARY KEY (project_id, role);
ALTER TABLE ONLY hardwon.migrated
    ADD CONSTRAINT migrated_pkey PRIMARY KEY (version);
ALTER TABLE ONLY hardwon.record_file
    ADD CONSTRAINT record_file_pkey PRIMARY KEY (project_id, seq, number);
ALTER TABLE ONLY hardwon.record_key
    ADD CONSTRAINT record_key_pkey PRIMARY KEY (project_id, seq, key);
ALTER TABLE ONLY hardwon.record
    ADD CONSTRAINT record_pkey PRIMARY KEY (project_id, id);
ALTER TABLE ONLY hardwon.record_tag
    ADD CONSTRAINT record_tag_pkey PRIMARY KEY (project_id, seq, tag);
ALTER TABLE ONLY hardwon.record_text
    ADD CONSTRAINT record_text_pkey PRIMARY KEY (project_id, seq);
ALTER TABLE ONLY hardwon.record_vector
    ADD CONSTRAINT record_vector_pkey PRIMARY KEY (project_id, seq);
ALTER TABLE ONLY hardwon.request
    ADD CONSTRAINT request_pkey PRIMARY KEY (project_id, key);
ALTER TABLE ONLY hardwon.state
    ADD CONSTRAINT state_pkey PRIMARY KEY (project_id, name);
ALTER TABLE ONLY hardwon.tally
    ADD CONSTRAINT tally_pkey PRIMARY KEY (project_id, scope, key, item, day, author);
ALTER TABLE ONLY hardwon.term_count
    ADD CONSTRAINT term_count_pkey PRIMARY KEY (project_id, term);
ALTER TABLE ONLY hardwon.token
    ADD CONSTRAINT token_pkey PRIMARY KEY (id);
CREATE INDEX event_by_record ON hardwon.event USING btree (project_id, record_id, at_us, id);
CREATE INDEX event_by_time ON hardwon.event USING btree (project_id, at_us, id);
CREATE INDEX event_forgotten ON hardwon.event USING btree (project_id, record_id) WHERE (kind = 'forgotten'::text);
CREATE INDEX event_replacing ON hardwon.event USING btree (project_id, said_replaced_by) WHERE (kind = 'superseded'::text);
CREATE INDEX event_stale ON hardwon.event USING btree (project_id, at_us, id) WHERE (kind = 'stale'::text);
CREATE INDEX fix_by_model ON hardwon.fix USING btree (project_id, model, strategy);
CREATE INDEX fix_by_pattern ON hardwon.fix USING btree (project_id, pattern, strategy);
CREATE INDEX fix_by_strategy ON hardwon.fix USING btree (project_id, strategy, seq);
CREATE UNIQUE INDEX granted_level ON hardwon.granted USING btree (project_id, level);
CREATE UNIQUE INDEX granted_role ON hardwon.granted USING btree (role);
CREATE INDEX record_by_issue ON hardwon.record USING btree (project_id, model, issue_type, at_us, id) WHERE (model IS NOT NULL);
CREATE UNIQUE INDEX record_by_seq ON hardwon.record USING btree (project_id, seq);
CREATE INDEX record_by_task ON hardwon.record USING btree (project_id, task_id, at_us, id) WHERE (task_id IS NOT NULL);
CREATE INDEX record_by_time ON hardwon.record USING btree (project_id, at_us, id);
CREATE INDEX record_counted ON hardwon.record USING btree (project_id, kind, outcome, tool, status, author, at_us);
CREATE INDEX record_decision ON hardwon.record USING btree (project_id, outcome, at_us, id) WHERE (kind = 'decision'::text);
CREATE INDEX record_helped ON hardwon.record USING btree (project_id, status, helped, at_us, id) WHERE (helped > 0);
CREATE INDEX record_key_by_key ON hardwon.record_key USING btree (project_id, key, seq);
CREATE INDEX record_tag_by_tag ON hardwon.record_tag USING btree (project_id, tag, seq);
CREATE INDEX record_text_by_term ON hardwon.record_text USING gin (vector) WITH (gin_pending_list_limit='1024');
CREATE INDEX record_vector_near_3 ON hardwon.record_vector USING hnsw (((embedding)::hardwon.vector(3)) hardwon.vector_cosine_ops) WHERE (dimension = 3);
CREATE INDEX request_at ON hardwon.request USING btree (project_id, at_us);
CREATE INDEX tally_vouched ON hardwon.tally USING btree (project_id, scope, item) WHERE ((scope = ANY (ARRAY['works'::text, 'avoid'::text])) AND (vouched > 0));
CREATE POLICY claiming ON hardwon.record AS RESTRICTIVE FOR INSERT WITH CHECK ((pg_has_role(CURRENT_USER, 'hardwon_governor'::name, 'MEMBER'::text) OR ((status <> 'published'::text) AND (NOT ((kind = 'decision'::text) AND (status = ANY (ARRAY['verified'::text, 'published'::text])))) AND (helped = 0) AND (hindered = 0) AND (status = COALESCE((COALESCE((validation)::json, ((body)::json #> '{metadata,validation}'::text[])) ->> 'status'::text), 'hypothesis'::text)))));
CREATE POLICY deciding ON hardwon.event AS RESTRICTIVE FOR INSERT WITH CHECK ((pg_has_role(CURRENT_USER, 'hardwon_governor'::name, 'MEMBER'::text) OR ((kind = ANY (ARRAY['imported'::text, 'credited'::text, 'repeated'::text])) AND (((body)::json ->> 'kind'::text) = kind) AND ((kind <> 'imported'::text) OR (EXISTS ( SELECT 1
   FROM hardwon.record r
  WHERE ((r.project_id = event.project_id) AND (r.id = event.record_id) AND (r.status = 'hypothesis'::text))))))));
ALTER TABLE hardwon.embedder ENABLE ROW LEVEL SECURITY;
ALTER TABLE hardwon.event ENABLE ROW LEVEL SECURITY;
ALTER TABLE hardwon.fix ENABLE ROW LEVEL SECURITY;
ALTER TABLE hardwon.granted ENABLE ROW LEVEL SECURITY;
CREATE POLICY granted_projects ON hardwon.embedder USING ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER))))) WITH CHECK ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER)))));
CREATE POLICY granted_projects ON hardwon.event USING ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER))))) WITH CHECK ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER)))));
CREATE POLICY granted_projects ON hardwon.fix USING ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER))))) WITH CHECK ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER)))));
CREATE POLICY granted_projects ON hardwon.record USING ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER))))) WITH CHECK ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER)))));
CREATE POLICY granted_projects ON hardwon.record_file USING ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER))))) WITH CHECK ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER)))));
CREATE POLICY granted_projects ON hardwon.record_key USING ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER))))) WITH CHECK ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER)))));
CREATE POLICY granted_projects ON hardwon.record_tag USING ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER))))) WITH CHECK ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER)))));
CREATE POLICY granted_projects ON hardwon.record_text USING ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER))))) WITH CHECK ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER)))));
CREATE POLICY granted_projects ON hardwon.record_vector USING ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER))))) WITH CHECK ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER)))));
CREATE POLICY granted_projects ON hardwon.request USING ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER))))) WITH CHECK ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER)))));
CREATE POLICY granted_projects ON hardwon.state USING ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER))))) WITH CHECK ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER)))));
CREATE POLICY granted_projects ON hardwon.tally USING ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER))))) WITH CHECK ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER)))));
CREATE POLICY granted_projects ON hardwon.term_count USING ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER))))) WITH CHECK ((project_id = ANY (ARRAY( SELECT g.project_id
   FROM hardwon.granted g
  WHERE (g.role = CURRENT_USER)))));
CREATE POLICY kept ON hardwon.token TO hardwon_owner, hardwon_keeper USING (true) WITH CHECK (true);
CREATE POLICY own ON hardwon.granted FOR SELECT USING ((EXISTS ( SELECT 1
   FROM pg_roles p
  WHERE ((p.rolname = granted.role) AND pg_has_role(CURRENT_USER, p.oid, 'MEMBER'::text)))));
CREATE POLICY owner ON hardwon.embedder TO hardwon_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON hardwon.event TO hardwon_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON hardwon.fix TO hardwon_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON hardwon.granted TO hardwon_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON hardwon.record TO hardwon_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON hardwon.record_file TO hardwon_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON hardwon.record_key TO hardwon_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON hardwon.record_tag TO hardwon_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON hardwon.record_text TO hardwon_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON hardwon.record_vector TO hardwon_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON hardwon.request TO hardwon_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON hardwon.state TO hardwon_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON hardwon.tally TO hardwon_owner USING (true) WITH CHECK (true);
CREATE POLICY owner ON hardwon.term_count TO hardwon_owner USING (true) WITH CHECK (true);
ALTER TABLE hardwon.record ENABLE ROW LEVEL SECURITY;
ALTER TABLE hardwon.record_file ENABLE ROW LEVEL SECURITY;
ALTER TABLE hardwon.record_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE hardwon.record_tag ENABLE ROW LEVEL SECURITY;
ALTER TABLE hardwon.record_text ENABLE ROW LEVEL SECURITY;
ALTER TABLE hardwon.record_vector ENABLE ROW LEVEL SECURITY;
ALTER TABLE hardwon.request ENABLE ROW LEVEL SECURITY;
ALTER TABLE hardwon.state ENABLE ROW LEVEL SECURITY;
ALTER TABLE hardwon.tally ENABLE ROW LEVEL SECURITY;
ALTER TABLE hardwon.term_count ENABLE ROW LEVEL SECURITY;
ALTER TABLE hardwon.token ENABLE ROW LEVEL SECURITY;
GRANT USAGE ON SCHEMA hardwon TO PUBLIC;
REVOKE ALL ON FUNCTION hardwon.follow_growth() FROM PUBLIC;
GRANT ALL ON FUNCTION hardwon.follow_growth() TO hardwon_writer;
REVOKE ALL ON FUNCTION hardwon.index_vectors(dimension integer) FROM PUBLIC;
GRANT ALL ON FUNCTION hardwon.index_vectors(dimension integer) TO hardwon_writer;
REVOKE ALL ON FUNCTION hardwon.matching(wanted_project text, terms tsquery[], times double precision[], worth double precision[], usual_length double precision, most bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION hardwon.matching(wanted_project text, terms tsquery[], times double precision[], worth double precision[], usual_length double precision, most bigint) TO hardwon_reader;
GRANT SELECT ON TABLE hardwon.embedder TO hardwon_reader;
GRANT INSERT,UPDATE ON TABLE hardwon.embedder TO hardwon_writer;
GRANT DELETE,UPDATE ON TABLE hardwon.embedder TO hardwon_governor;
GRANT SELECT ON TABLE hardwon.event TO hardwon_reader;
GRANT INSERT ON TABLE hardwon.event TO hardwon_writer;
GRANT DELETE,UPDATE ON TABLE hardwon.event TO hardwon_governor;
GRANT SELECT ON TABLE hardwon.fix TO hardwon_reader;
GRANT INSERT ON TABLE hardwon.fix TO hardwon_writer;
GRANT DELETE,UPDATE ON TABLE hardwon.fix TO hardwon_governor;
GRANT SELECT ON TABLE hardwon.record TO hardwon_reader;
GRANT INSERT ON TABLE hardwon.record TO hardwon_writer;
GRANT DELETE,UPDATE ON TABLE hardwon.record TO hardwon_governor;
GRANT UPDATE(helped) ON TABLE hardwon.record TO hardwon_writer;
GRANT UPDATE(hindered) ON TABLE hardwon.record TO hardwon_writer;
GRANT SELECT ON TABLE hardwon.record_key TO hardwon_reader;
GRANT INSERT ON TABLE hardwon.record_key TO hardwon_writer;
GRANT DELETE,UPDATE ON TABLE hardwon.record_key TO hardwon_governor;
GRANT SELECT ON TABLE hardwon.fix_history TO hardwon_reader;
GRANT SELECT ON TABLE hardwon.granted TO PUBLIC;
GRANT SELECT ON TABLE hardwon.issue_patterns TO hardwon_reader;
GRANT SELECT ON TABLE hardwon.migrated TO PUBLIC;
GRANT SELECT ON TABLE hardwon.model_characteristics TO hardwon_reader;
GRANT SELECT ON TABLE hardwon.record_file TO hardwon_reader;
GRANT INSERT ON TABLE hardwon.record_file TO hardwon_writer;
GRANT DELETE,UPDATE ON TABLE hardwon.record_file TO hardwon_governor;
GRANT USAGE ON SEQUENCE hardwon.record_seq TO hardwon_writer;
GRANT SELECT ON TABLE hardwon.record_tag TO hardwon_reader;
GRANT INSERT ON TABLE hardwon.record_tag TO hardwon_writer;
GRANT DELETE,UPDATE ON TABLE hardwon.record_tag TO hardwon_governor;
GRANT SELECT ON TABLE hardwon.record_text TO hardwon_reader;
GRANT INSERT ON TABLE hardwon.record_text TO hardwon_writer;
GRANT DELETE,UPDATE ON TABLE hardwon.record_text TO hardwon_governor;
GRANT SELECT ON TABLE hardwon.record_vector TO hardwon_reader;
GRANT INSERT,DELETE,UPDATE ON TABLE hardwon.record_vector TO hardwon_writer;
GRANT DELETE,UPDATE ON TABLE hardwon.record_vector TO hardwon_governor;
GRANT SELECT ON TABLE hardwon.request TO hardwon_reader;
GRANT INSERT,DELETE ON TABLE hardwon.request TO hardwon_writer;
GRANT DELETE,UPDATE ON TABLE hardwon.request TO hardwon_governor;
GRANT SELECT ON TABLE hardwon.state TO hardwon_reader;
GRANT INSERT,UPDATE ON TABLE hardwon.state TO hardwon_writer;
GRANT DELETE,UPDATE ON TABLE hardwon.state TO hardwon_governor;
GRANT SELECT ON TABLE hardwon.tally TO hardwon_reader;
GRANT INSERT,UPDATE ON TABLE hardwon.tally TO hardwon_writer;
GRANT DELETE,UPDATE ON TABLE hardwon.tally TO hardwon_governor;
GRANT SELECT ON TABLE hardwon.term_count TO hardwon_reader;
GRANT INSERT,UPDATE ON TABLE hardwon.term_count TO hardwon_writer;
GRANT DELETE,UPDATE ON TABLE hardwon.term_count TO hardwon_governor;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE hardwon.token TO hardwon_keeper;
