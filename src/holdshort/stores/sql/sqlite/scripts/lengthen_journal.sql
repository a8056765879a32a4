-- Give the write-ahead log of a new file its usual length: SQLite writes it back into the file
-- once it has 1000 pages of 4096 bytes. The filler leaves no trace in the file itself.
BEGIN IMMEDIATE;
CREATE TABLE journal_filler (body BLOB);
INSERT INTO journal_filler (body) VALUES (zeroblob(4096000));
DROP TABLE journal_filler;
COMMIT;
VACUUM;
PRAGMA wal_checkpoint(RESTART);
