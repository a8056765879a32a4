-- name: lease_renew
-- Extend a lease that is still this holder's.
UPDATE run SET lease_boot = :boot, lease_until = :until WHERE id = :id AND epoch = :epoch;

-- name: lease_is
-- After a commit whose answer was lost: whether the lease was extended.
SELECT 1 FROM run WHERE run_id = :run_id AND epoch = :epoch AND lease_until = :until;

-- name: post_insert
-- A request for a run's inbox.
INSERT INTO inbox (run, kind, body, posted_at, key_id, mac)
VALUES (:run, :kind, :body, :posted_at, :key_id, :mac)
RETURNING post_id;

-- name: post_exists
-- After a commit whose answer was lost: whether the request is there.
SELECT 1 FROM inbox WHERE post_id = :post_id;

-- name: cancel_mark
-- Mark a run and its living descendants; the first request stays.
WITH RECURSIVE tree (run_id) AS (
    SELECT :run_id
    UNION
    SELECT r.run_id FROM run r JOIN tree t ON r.parent = t.run_id
     WHERE r.phase NOT IN ('succeeded', 'failed', 'cancelled')
)
UPDATE run SET cancel_by = :by, cancel_reason = :reason, cancel_at = :at
 WHERE run_id IN (SELECT run_id FROM tree) AND cancel_at IS NULL;

-- name: cancel_exists
-- After a commit whose answer was lost: whether the mark is there.
SELECT 1 FROM run WHERE run_id = :run_id AND cancel_at IS NOT NULL;

-- name: control_insert
-- Set a kill switch; one that is set stays as it is.
INSERT INTO control (scope, held_by, why, since) VALUES (:scope, :by, :why, :since)
ON CONFLICT (scope) DO NOTHING;

-- name: control_delete
-- Remove a kill switch.
DELETE FROM control WHERE scope = :scope;

-- name: control_exists
-- Whether a kill switch is set.
SELECT 1 FROM control WHERE scope = :scope;

-- name: postscript_insert
-- Keep a late answer; the first one per attempt stays.
INSERT INTO postscript (run, attempt, at, body) VALUES (:run, :attempt, :at, :body)
ON CONFLICT (run, attempt) DO NOTHING;

-- name: postscript_exists
-- After a commit whose answer was lost: whether the answer is kept.
SELECT 1 FROM postscript WHERE run = :run AND attempt = :attempt;

-- name: migrations
-- What was applied to this file, in order.
SELECT number, name, checksum FROM migration ORDER BY number;

-- name: migration_insert
-- Remember a migration, with the checksum of its text.
INSERT INTO migration (number, name, checksum, applied_at)
VALUES (:number, :name, :checksum, :applied_at);

-- name: tables
-- Whether the file holds anything at all.
SELECT count(*) FROM sqlite_schema;
