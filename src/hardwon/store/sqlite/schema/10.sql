
    DROP TABLE record_text;
    CREATE TABLE record_text (
        seq INTEGER PRIMARY KEY, terms TEXT NOT NULL, marks TEXT NOT NULL
    ) STRICT;
    