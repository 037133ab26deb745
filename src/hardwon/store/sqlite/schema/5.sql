
    CREATE TABLE fix_history (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        timestamp TEXT NOT NULL,
        model_name TEXT NOT NULL,
        issue_type TEXT NOT NULL,
        issue_signature TEXT NOT NULL,
        description TEXT NOT NULL,
        fixer_type TEXT NOT NULL,
        claude_analysis TEXT NOT NULL,
        fix_commands TEXT NOT NULL,
        fix_success BOOLEAN NOT NULL,
        verification_success BOOLEAN NOT NULL,
        execution_time_seconds REAL,
        system_info TEXT NOT NULL,
        notes TEXT
    );
    CREATE INDEX idx_fix_history_timestamp ON fix_history (timestamp, model_name, fix_success);
    CREATE INDEX idx_fix_history_model ON fix_history (model_name, issue_type, fix_success, verification_success, timestamp);
    CREATE INDEX idx_fix_history_issue_type
        ON fix_history (issue_type, fix_success, verification_success, timestamp, execution_time_seconds);
    CREATE INDEX idx_fix_history_signature ON fix_history (issue_signature, fix_success, verification_success, timestamp);
    CREATE INDEX idx_fix_history_fixer_type ON fix_history (fixer_type, fix_success, verification_success);
    CREATE INDEX idx_fix_history_success ON fix_history (fix_success, verification_success);

    CREATE TABLE issue_patterns (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        pattern_name TEXT UNIQUE NOT NULL,
        issue_signature TEXT NOT NULL,
        success_count INTEGER DEFAULT 0,
        failure_count INTEGER DEFAULT 0,
        best_fix TEXT,
        last_seen TEXT,
        confidence_score REAL DEFAULT 0.0
    );
    CREATE TABLE model_characteristics (
        model_name TEXT PRIMARY KEY,
        total_tests INTEGER DEFAULT 0,
        success_rate REAL DEFAULT 0.0,
        common_issues TEXT,
        effective_fixes TEXT,
        last_updated TEXT,
        performance_notes TEXT
    );

    CREATE TABLE fix_count (
        scope TEXT NOT NULL,
        key TEXT NOT NULL,
        item TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        applied INTEGER NOT NULL,
        verified INTEGER NOT NULL,
        PRIMARY KEY (scope, key, item)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX fix_count_best ON fix_count (scope, key, verified, attempts);
    CREATE TABLE fix_left_out (author TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE fix_guard (open INTEGER NOT NULL) STRICT;
    INSERT INTO fix_guard VALUES (0);
    
    CREATE TRIGGER fix_history_insert_guarded BEFORE INSERT ON fix_history
    WHEN coalesce((SELECT max(open) FROM fix_guard), 0) = 0 BEGIN
        SELECT RAISE(ABORT, 'fix_history is kept by Hardwon: record through AIMemory or Memory, and open this file read-only');
    END;
    
    CREATE TRIGGER fix_history_update_guarded BEFORE UPDATE ON fix_history
    WHEN coalesce((SELECT max(open) FROM fix_guard), 0) = 0 BEGIN
        SELECT RAISE(ABORT, 'fix_history is kept by Hardwon: record through AIMemory or Memory, and open this file read-only');
    END;
    
    CREATE TRIGGER fix_history_delete_guarded BEFORE DELETE ON fix_history
    WHEN coalesce((SELECT max(open) FROM fix_guard), 0) = 0 BEGIN
        SELECT RAISE(ABORT, 'fix_history is kept by Hardwon: record through AIMemory or Memory, and open this file read-only');
    END;
    
    CREATE TRIGGER issue_patterns_insert_guarded BEFORE INSERT ON issue_patterns
    WHEN coalesce((SELECT max(open) FROM fix_guard), 0) = 0 BEGIN
        SELECT RAISE(ABORT, 'issue_patterns is kept by Hardwon: record through AIMemory or Memory, and open this file read-only');
    END;
    
    CREATE TRIGGER issue_patterns_update_guarded BEFORE UPDATE ON issue_patterns
    WHEN coalesce((SELECT max(open) FROM fix_guard), 0) = 0 BEGIN
        SELECT RAISE(ABORT, 'issue_patterns is kept by Hardwon: record through AIMemory or Memory, and open this file read-only');
    END;
    
    CREATE TRIGGER issue_patterns_delete_guarded BEFORE DELETE ON issue_patterns
    WHEN coalesce((SELECT max(open) FROM fix_guard), 0) = 0 BEGIN
        SELECT RAISE(ABORT, 'issue_patterns is kept by Hardwon: record through AIMemory or Memory, and open this file read-only');
    END;
    
    CREATE TRIGGER model_characteristics_insert_guarded BEFORE INSERT ON model_characteristics
    WHEN coalesce((SELECT max(open) FROM fix_guard), 0) = 0 BEGIN
        SELECT RAISE(ABORT, 'model_characteristics is kept by Hardwon: record through AIMemory or Memory, and open this file read-only');
    END;
    
    CREATE TRIGGER model_characteristics_update_guarded BEFORE UPDATE ON model_characteristics
    WHEN coalesce((SELECT max(open) FROM fix_guard), 0) = 0 BEGIN
        SELECT RAISE(ABORT, 'model_characteristics is kept by Hardwon: record through AIMemory or Memory, and open this file read-only');
    END;
    
    CREATE TRIGGER model_characteristics_delete_guarded BEFORE DELETE ON model_characteristics
    WHEN coalesce((SELECT max(open) FROM fix_guard), 0) = 0 BEGIN
        SELECT RAISE(ABORT, 'model_characteristics is kept by Hardwon: record through AIMemory or Memory, and open this file read-only');
    END;
    