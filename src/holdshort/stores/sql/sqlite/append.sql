-- name: run_under_lock
-- All that the guards of an append read, in one go: the run, its pool, and how many kill switches exist.
SELECT r.run_id, r.tenant, r.contract_name, r.phase, r.epoch, r.owner, r.lease_boot,
       r.lease_until, r.head_seq, r.head_hash, r.cancel_by, r.cancel_reason, r.cancel_at,
       r.id, r.root,
       p.steps, p.tool_calls, p.tokens, p.cost_usd,
       p.steps_max, p.tool_calls_max, p.tokens_max, p.cost_usd_max,
       (SELECT count(*) FROM control)
  FROM run r JOIN pool p ON p.id = r.root
 WHERE r.run_id = :run_id;

-- name: controls
-- Every kill switch; there are few.
SELECT scope, held_by, why, since FROM control;

-- name: run_insert
-- A run without events; the append that follows in the same transaction fills the rest.
INSERT INTO run (id, run_id, root, parent, tenant, environment, contract_name, contract_hash,
                 loop, documents, started_at, phase, epoch, lease_until, dispatch_seq, head_seq,
                 head_hash, updated_at)
SELECT next.id, :run_id, coalesce((SELECT root FROM run WHERE run_id = :root), next.id),
       :parent, :tenant, :environment, :contract_name, :contract_hash, :loop, :documents,
       :started_at, :phase, 0, 0, 0, 0, :head_hash, :updated_at
  FROM (SELECT coalesce((SELECT id FROM run ORDER BY id DESC LIMIT 1), 0) + 1 AS id) AS next
 WHERE true
ON CONFLICT (run_id) DO NOTHING;

-- name: pool_insert
-- The pool of a new tree, unused.
INSERT INTO pool (id, steps, tool_calls, tokens, cost_usd,
                  steps_max, tool_calls_max, tokens_max, cost_usd_max)
SELECT id, 0, 0, 0, '0', :steps_max, :tool_calls_max, :tokens_max, :cost_usd_max
  FROM run WHERE run_id = :run_id;

-- name: run_advance
-- The run's row after an append. The conditions repeat the guards, so that no mistake above can pass.
UPDATE run
   SET phase = :phase, stop_reason = :stop_reason, epoch = :epoch, owner = :owner,
       lease_boot = :lease_boot, lease_until = :lease_until, dispatch_seq = :dispatch_seq,
       head_seq = :head_seq, head_hash = :head_hash, wake_at = :wake_at,
       waiting_for = :waiting_for, ended_at = :ended_at, updated_at = :updated_at
 WHERE id = :id AND epoch = :epoch_before AND head_seq = :head_before
   AND phase NOT IN ('succeeded', 'failed', 'cancelled')
   AND (cancel_at IS NULL OR NOT :live);

-- name: pool_change
-- Reserve or settle; the limits of guarded dimensions must hold afterwards. Money is compared in code.
UPDATE pool
   SET steps = steps + :steps, tool_calls = tool_calls + :tool_calls, tokens = tokens + :tokens,
       cost_usd = :cost_usd
 WHERE id = :id
   AND (NOT :steps_guarded OR steps + :steps <= steps_max)
   AND (NOT :tool_calls_guarded OR tool_calls + :tool_calls <= tool_calls_max)
   AND (NOT :tokens_guarded OR tokens + :tokens <= tokens_max);

-- name: event_insert
-- One event of the log.
INSERT INTO event (id, epoch, kind, body, salt, hash, key_id, mac)
VALUES (:id, :epoch, :kind, :body, :salt, :hash, :key_id, :mac);

-- name: intent_now
-- One intent as it stands, for the guard.
SELECT i.base, i.key, i.version, i.status, r.run_id, i.args_digest, i.attempts, i.generation,
       i.result_seq, i.run
  FROM intent i JOIN run r ON r.id = i.run
 WHERE i.tenant = :tenant AND i.base = :base AND i.version = :version;

-- name: intent_put
-- One intent after its guard has passed.
INSERT INTO intent (tenant, base, version, key, status, run, args_digest, attempts, generation,
                    token, result_seq)
VALUES (:tenant, :base, :version, :key, :status, :run, :args_digest, :attempts, :generation,
        :token, :result_seq)
ON CONFLICT (tenant, base, version) DO UPDATE
   SET status = excluded.status, run = excluded.run, args_digest = excluded.args_digest,
       attempts = excluded.attempts, generation = excluded.generation, token = excluded.token,
       result_seq = excluded.result_seq;

-- name: approval_now
-- One request as it stands, for the guard.
SELECT a.request_id, r.run_id, a.tool, a.status, a.binding, a.step, a.place, a.expires_at,
       a.decided_by, a.requested_seq
  FROM approval a JOIN run r ON r.id = a.run
 WHERE a.request_id = :request_id;

-- name: approval_insert
-- A new request.
INSERT INTO approval (request_id, run, tool, status, binding, step, place, expires_at, nonce,
                      decided_by, requested_seq)
VALUES (:request_id, :run, :tool, :status, :binding, :step, :place, :expires_at, :nonce,
        :decided_by, :requested_seq);

-- name: approval_change
-- A request after its guard has passed; it must still be what the guard saw.
UPDATE approval SET status = :status, binding = :binding, decided_by = :decided_by
 WHERE request_id = :request_id AND status = :status_before;

-- name: artifact_insert
-- Bytes by digest; the same bytes are kept once.
INSERT INTO artifact (digest, body) VALUES (:digest, :body) ON CONFLICT (digest) DO NOTHING;

-- name: artifact_exists
-- Whether the bytes of a digest are kept.
SELECT 1 FROM artifact WHERE digest = :digest;

-- name: outbox_insert
-- A message of a same-database tool.
INSERT INTO outbox (tenant, topic, body, run, seq) VALUES (:tenant, :topic, :body, :run, :seq);

-- name: ledger_insert
-- A ledger row of a same-database tool; no change means that the key is taken.
INSERT INTO ledger (tenant, book, key, value, run, seq)
VALUES (:tenant, :book, :key, :value, :run, :seq)
ON CONFLICT (tenant, book, key) DO NOTHING;

-- name: reference_now
-- Where a reference points.
SELECT value FROM reference WHERE tenant = :tenant AND name = :name;

-- name: reference_put
-- Move a reference, after its old value was compared under the lock.
INSERT INTO reference (tenant, name, value, run, seq) VALUES (:tenant, :name, :value, :run, :seq)
ON CONFLICT (tenant, name) DO UPDATE
   SET value = excluded.value, run = excluded.run, seq = excluded.seq;

-- name: reference_delete
-- A reference that points nowhere any more.
DELETE FROM reference WHERE tenant = :tenant AND name = :name;

-- name: post_take
-- A post that the events answer.
DELETE FROM inbox WHERE post_id = :post_id AND run = :run;

-- name: snapshot_put
-- The newest snapshot takes the place of the one before.
INSERT INTO snapshot (run, seq, head_hash, body, key_id, mac)
VALUES (:run, :seq, :head_hash, :body, :key_id, :mac)
ON CONFLICT (run) DO UPDATE
   SET seq = excluded.seq, head_hash = excluded.head_hash, body = excluded.body,
       key_id = excluded.key_id, mac = excluded.mac;

-- name: event_hash
-- After a commit whose answer was lost: what lies at the place we tried to write.
SELECT hash FROM event WHERE id = ((SELECT id FROM run WHERE run_id = :run_id) << 32) + :seq;
