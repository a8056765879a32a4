-- name: run_by_id
-- One run as lists show it, with what the loader compares.
SELECT r.run_id, r.tenant, r.environment, r.contract_name, r.contract_hash, r.loop, r.phase,
       r.stop_reason, r.epoch, r.owner, r.lease_boot, r.lease_until, r.head_seq, r.head_hash,
       r.cancel_by, r.cancel_reason, r.cancel_at, r.wake_at, r.waiting_for, r.started_at,
       r.ended_at, r.updated_at, r.documents, r.dispatch_seq, r.id
  FROM run r WHERE r.run_id = :run_id;

-- name: runs
-- Runs, newest first.
SELECT r.run_id, r.tenant, r.environment, r.contract_name, r.contract_hash, r.loop, r.phase,
       r.stop_reason, r.epoch, r.owner, r.lease_boot, r.lease_until, r.head_seq, r.head_hash,
       r.cancel_by, r.cancel_reason, r.cancel_at, r.wake_at, r.waiting_for, r.started_at,
       r.ended_at, r.updated_at, r.documents, r.dispatch_seq, r.id
  FROM run r
 WHERE (:tenant IS NULL OR r.tenant = :tenant) AND (:phase IS NULL OR r.phase = :phase)
 ORDER BY r.id DESC LIMIT :limit;

-- name: snapshot_of
-- The newest snapshot of a run.
SELECT seq, head_hash, body, key_id, mac FROM snapshot WHERE run = :run;

-- name: events_after
-- A page of the log in order.
SELECT id & 4294967295, epoch, kind, body, salt, hash, key_id, mac
  FROM event WHERE id > (:run << 32) + :after AND id < (:run + 1) << 32
 ORDER BY id LIMIT :limit;

-- name: hash_before
-- The link that the first event of a page must follow.
SELECT hash FROM event WHERE id = (:run << 32) + :seq;

-- name: event_key
-- The id of the key that signed one event.
SELECT key_id FROM event WHERE id = (:run << 32) + :seq;

-- name: event_body
-- One event, for the result that an intent refers to.
SELECT kind, body FROM event WHERE id = (:run << 32) + :seq;

-- name: posts_of
-- The inbox of a run, oldest first.
SELECT post_id, kind, body, posted_at, key_id, mac FROM inbox WHERE run = :run ORDER BY post_id;

-- name: posts_count
-- How many requests wait.
SELECT count(*) FROM inbox WHERE run = :run;

-- name: intent_newest
-- The newest version of an intent.
SELECT i.base, i.key, i.version, i.status, r.run_id, i.args_digest, i.attempts, i.generation,
       i.result_seq, i.run
  FROM intent i JOIN run r ON r.id = i.run
 WHERE i.tenant = :tenant AND i.base = :base
 ORDER BY i.version DESC LIMIT 1;

-- name: intents_of
-- Every effect that is recorded for a run, by whichever tenant's name; verification reads all rows.
SELECT i.base, i.key, i.version, i.status, r.run_id, i.args_digest, i.attempts, i.generation,
       i.result_seq, i.run, i.tenant
  FROM intent i JOIN run r ON r.id = i.run
 WHERE i.run = :run;

-- name: approvals_all
-- Requests of all runs to people, oldest first.
SELECT a.request_id, r.run_id, a.tool, a.status, a.binding, a.step, a.place, a.expires_at,
       a.decided_by, a.requested_seq
  FROM approval a JOIN run r ON r.id = a.run
 WHERE :status IS NULL OR a.status = :status
 ORDER BY a.id;

-- name: approvals_of
-- Requests of one run, oldest first.
SELECT a.request_id, r.run_id, a.tool, a.status, a.binding, a.step, a.place, a.expires_at,
       a.decided_by, a.requested_seq
  FROM approval a JOIN run r ON r.id = a.run
 WHERE a.run = (SELECT id FROM run WHERE run_id = :run_id)
   AND (:status IS NULL OR a.status = :status)
 ORDER BY a.id;

-- name: approvals_open
-- All open requests, oldest first, by their index: thousands of runs may have ended.
SELECT a.request_id, r.run_id, a.tool, a.status, a.binding, a.step, a.place, a.expires_at,
       a.decided_by, a.requested_seq
  FROM approval a JOIN run r ON r.id = a.run
 WHERE a.status = 'open'
 ORDER BY a.id;

-- name: artifact_by_digest
-- Bytes by digest.
SELECT body FROM artifact WHERE digest = :digest;

-- name: postscripts_of
-- Late answers of a run, oldest first.
SELECT at, attempt, body FROM postscript WHERE run = :run ORDER BY at, attempt;

-- name: run_place
-- Where a run stands in its tree: the root and the parent.
SELECT t.run_id, r.parent FROM run r JOIN run t ON t.id = r.root WHERE r.id = :run;

-- name: runs_of_tree
-- Every run that spends from one pool.
WITH RECURSIVE tree (run_id) AS (
    SELECT :root
    UNION
    SELECT r.run_id FROM run r JOIN tree t ON r.parent = t.run_id
)
SELECT r.id, r.run_id FROM tree t JOIN run r ON r.run_id = t.run_id;

-- name: pool_of
-- The pool of a tree: used and limits.
SELECT p.steps, p.tool_calls, p.tokens, p.cost_usd,
       p.steps_max, p.tool_calls_max, p.tokens_max, p.cost_usd_max
  FROM pool p JOIN run r ON r.id = p.id WHERE r.run_id = :root;

-- name: pool_cost
-- What a tree has used of its cost budget.
SELECT p.cost_usd FROM pool p JOIN run r ON r.id = p.id WHERE r.run_id = :run_id;
