
    ALTER TABLE record_vector ADD COLUMN number INTEGER;
    ALTER TABLE record_vector ADD COLUMN code BLOB;
    CREATE INDEX record_vector_by_number ON record_vector (project_id, number, code);
    
