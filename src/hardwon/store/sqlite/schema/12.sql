
    DROP INDEX IF EXISTS tree_file_by_record;
    DROP INDEX IF EXISTS tree_file_due;
    CREATE INDEX IF NOT EXISTS tree_file_by_state ON tree_file (state, seq);
    DROP TRIGGER tree_record_erased;
    CREATE TRIGGER tree_record_erased AFTER DELETE ON record BEGIN
        DELETE FROM tree_file WHERE seq = OLD.seq AND state = 3;
        UPDATE tree_file SET state = 2, seq = -OLD.seq WHERE seq = OLD.seq AND state IN (0, 1, 2);
    END;
    DROP INDEX record_counted;
    CREATE INDEX record_counted ON record (project_id, kind, outcome, tool, status, author, at_us / 86400000000);
