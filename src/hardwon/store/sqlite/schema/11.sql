
    ALTER TABLE record_vector ADD COLUMN number INTEGER;
    ALTER TABLE record_vector ADD COLUMN code BLOB;
    CREATE INDEX record_vector_by_number ON record_vector (project_id, number, code);
    UPDATE record SET outcome = CASE WHEN CASE kind
        WHEN 'fix' THEN (body ->> '$.fix_success') AND (body ->> '$.verification_success')
        WHEN 'episode' THEN (body ->> '$.score') >= 0.5
        ELSE (body ->> '$.final_reward') >= 0.5
    END THEN 'success' ELSE 'failure' END
    WHERE kind IN ('fix', 'episode', 'trajectory') AND json_valid(body);
