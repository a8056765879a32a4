/*
 * One governed run of holdshort as a state machine that spin can exhaust.
 *
 * Two workers, one store, one receiver of a chosen class, a person, an operator, somebody who
 * cancels. One `atomic` that touches stored values is one database transaction of the code; one
 * that touches the receiver is one thing that happens there. Everything else interleaves freely:
 * a worker may die or stall between any two lines, a lease may be taken at any moment (no clock
 * protects anything), and what was authorised may be sent, delivered or lost whenever it likes,
 * long after whoever authorised it is gone.
 *
 * -DT -DKLP -DKL -DK -DLF -DLB -DL -DCAS -DN choose the class. NI is the number of intents (two
 * proposals of the agent), BUDGET the calls, TRIES the attempts per intent. -DAPPROVAL makes every
 * call need a person first. -DDUP lets the transport repeat a request by itself. -DFORGET lets the
 * receiver forget keys once nothing under way can arrive any more. The M_ switches are mutants;
 * docs/internals/model.md says which code each line stands for.
 */
#ifndef NI
#define NI 2
#endif
#ifndef BUDGET
#define BUDGET 3
#endif
#ifndef TRIES
#define TRIES 2
#endif
#ifndef NW
#define NW 2
#endif
#define SLOTS   3            /* requests that exist at once, however old */
#define ASKS    2            /* look-ups in a row before a person is asked */

/* ---- what each class offers (kernel/effects.py, Receiver) -------------------------------- */
#if defined(KLP) || defined(KL) || defined(K)
#define KEYED
#endif
#if defined(KLP) || defined(KL) || defined(LF) || defined(LB) || defined(L) || defined(CAS)
#define LOOKS_UP
#endif
#if defined(KL) || defined(K) || defined(CAS)
#define RESENDS
#endif
#if defined(KLP) || defined(LF)
#define SEALS
#endif
#if defined(SEALS) || defined(LB) || defined(M_ABSENT_IS_FINAL)
#define ABSENT_IS_FINAL
#endif
#if defined(KEYED) && !defined(M_KEY_PER_ATTEMPT)
#define DEDUPES
#endif

/* ---- values ------------------------------------------------------------------------------ */
#define RUNNING    0
#define VERIFYING  1
#define SUCCEEDED  2
#define FAILED     3
#define CANCELLED  4
#define ENDED      (phase >= SUCCEEDED)

/* the one action of the current step (kernel/action.py, ActionStatus) */
#define NOTHING    0
#define PROPOSED   1
#define ASKED      2
#define APPROVED   3
#define INFLIGHT   4
#define UNKNOWN    5
#define LOOKING    6
#define QUESTION   7
#define BACKOFF    8
#define OUTSTANDING (act >= INFLIGHT && act <= QUESTION)

/* rows of intents (kernel/effects.py, IntentStatus) */
#define NEW        0
#define FLYING     1
#define APPLIED    2
#define NOTAPPLIED 3
#define UNRESOLVED 4

/* the answer that is remembered with an unknown outcome */
#define NONE       0
#define ABSENT     1
#define RESENT     2

/* one request, from authorisation to oblivion */
#define FREE       0
#define HELD       1         /* authorised, and its sender may still wake up */
#define WIRE       2
#define SILENT     3         /* it will never do anything, and its worker still waits */
#define DONE       4         /* answered: applied */
#define REFUSED    5         /* answered: surely no effect */
#define UNCLEAR    6         /* answered: an error that settles nothing */

/* approvals */
#define OPEN       1
#define GRANTED    2
#define CONSUMED   3

/* ---- the store --------------------------------------------------------------------------- */
byte phase = RUNNING;
byte holder = 0;             /* whose lease it is; a worker that re-acquires has lost its memory */
bit  mark = 0;               /* the cancel mark on the run's row */
bit  cancelling = 0;         /* CancelRequested is in the log */
bit  hold = 0;               /* the kill switch's row */
bit  stopping = 0;           /* StopDue is in the log */
byte act = NOTHING;
byte cur = 0;                /* which intent the action is */
bit  args = 0;               /* which arguments it has */
byte answer = NONE;
byte looks = 0;
byte row[NI];
byte tries[NI];
byte gen[NI];                /* generation of the key */
byte spent = 0;
#ifdef APPROVAL
byte ap = NONE;              /* one request to a person at a time */
byte apI = 0;
bit  apArgs = 0;
bit  apOld = 0;              /* granted, and expired since */
byte apUses = 0;             /* ghost: actions that were sent under it */
#endif
byte verdict = 0;            /* effects that the held verdict has seen; 0: none is held */
byte epoch = 0;              /* counted only where something depends on the number */
byte fails = 0;              /* failed verifications, counted for liveness only */
#define BORED (fails >= 2)

/* ---- outside ----------------------------------------------------------------------------- */
byte life[SLOTS];
byte ofI[SLOTS];
byte ofGen[SLOTS];
bit  alone[SLOTS];            /* nobody waits for it any more */
#ifdef DUP
bit  copied[SLOTS];          /* the transport has sent it again by itself */
#endif
bit  strange[SLOTS];         /* it carries what nobody approved */
bit  under[NI];              /* applied under which generation of the key */
byte eff[NI];                /* ghost: the truth */
bit  forgot[NI];
bit  tool = 0;               /* 0: the definition that the run was started with */
#ifdef LF
byte token = 0;              /* dispatch_seq */
byte ofTok[SLOTS];
byte newest = 0;             /* the newest token that the receiver has seen */
byte sealing = 0;            /* the newest token of a seal that may still arrive */
#endif
#ifdef KLP
byte tombs[NI];              /* bit g: generation g is sealed */
byte sealsent[NI];           /* bit g: a seal of generation g may still arrive */
bit  knowntomb[NI];          /* ghost: the log knows that generation 0 is sealed */
#endif
#ifdef CAS
byte ref[NI];                /* 0: the old value; 1: ours; 2: somebody else's */
#endif
byte given = 0;              /* ghost: permissions to send */

#define ALLEFF  (eff[0] + eff[NI-1] * (NI-1))
#define ROWDONE(i) ((row[i] == APPLIED) == (eff[i] > 0) || row[i] == UNRESOLVED)
#define ALIVE(s, i) (life[s] != FREE && ofI[s] == i && (life[s] == HELD || life[s] == WIRE))
#define QUIET(i) (!ALIVE(0, i) && !ALIVE(1, i) && !ALIVE(2, i))
#define ONWIRE(s, i) (life[s] == WIRE && ofI[s] == i)
#define QUIETNET(i) (!ONWIRE(0, i) && !ONWIRE(1, i) && !ONWIRE(2, i))
#define SLOT_FREE (life[0] == FREE || life[1] == FREE || life[2] == FREE)

/* ---- guards of a transaction (stores/guards.py), each with the mutant that lacks it ------- */
#if defined(M_NO_FENCE) || defined(M_TAKEOVER_KEEPS_TOKEN)
#define MINE(w) (!ENDED)
#else
#define MINE(w) (holder == w && !ENDED)
#endif
#ifdef M_LOOK_PAST_FENCE
#define P4(w) skip
#else
#define P4(w) assert(holder == w)
#endif

#ifdef M_CANCEL_MARK_UNREAD
#define LIVE_SEND (!cancelling)
#else
#define LIVE_SEND (!mark && !cancelling)
#endif
#ifdef M_RESEND_AFTER_CANCEL
#define LIVE_RESEND (1)
#else
#define LIVE_RESEND LIVE_SEND
#endif
#ifdef M_SUCCESS_IGNORES_CANCEL
#define LIVE_END (1)
#else
#define LIVE_END (!mark && !cancelling)
#endif
#ifdef M_STAGED_AFTER_CANCEL
#define LIVE_STAGE (1)
#else
#define LIVE_STAGE (!mark)
#endif
#ifdef M_HOLD_UNREAD
#define UNHELD (1)
#else
#define UNHELD (!hold)
#endif
#if defined(M_HOLD_UNREAD_AT_RESEND)
#define UNHELD_AGAIN (1)
#else
#define UNHELD_AGAIN UNHELD
#endif
#ifdef M_BUDGET_UNREAD
#define AFFORDABLE (1)
#else
#define AFFORDABLE (spent < BUDGET)
#endif
#ifdef LF
#ifndef TOKENS
#define TOKENS 5
#endif
#define TOKEN_LEFT (token < TOKENS)
#else
#define TOKEN_LEFT (1)
#endif
#define SENDABLE(w) (MINE(w) && LIVE_SEND && AFFORDABLE && SLOT_FREE && TOKEN_LEFT)

/* may the same key be sent again to learn the outcome? (kernel/reconcile.py, _may_resend) */
#ifdef M_RESEND_AFTER_CANCEL
#define RESEND_CANCEL (1)
#else
#define RESEND_CANCEL (!cancelling)
#endif
#ifdef M_RESEND_WHILE_STOPPING
#define RESEND_STOP (1)
#else
#define RESEND_STOP (!stopping)
#endif
#ifdef M_RETENTION_UNREAD
#define REMEMBERED (1)
#else
#define REMEMBERED (!forgot[cur])
#endif
#ifdef RESENDS
#define MAY_RESEND (RESEND_CANCEL && RESEND_STOP && REMEMBERED && tries[cur] < TRIES && AFFORDABLE)
#else
#define MAY_RESEND (0)
#endif
#ifdef LOOKS_UP
#ifdef M_RESEND_BEFORE_LOOKING
#define MUST_LOOK (0)
#else
#define MUST_LOOK (answer != ABSENT && looks < ASKS)
#endif
#else
#define MUST_LOOK (0)
#endif
#ifdef LB
#ifdef M_BOUND_OF_THE_NET_ONLY
#define BOUND_OVER QUIETNET(cur)
#else
#define BOUND_OVER QUIET(cur)
#endif
#else
#define BOUND_OVER (1)
#endif
#ifdef M_PERSON_ANSWERS_EARLY
#define SAFE_TO_ANSWER (1)
#else
#define SAFE_TO_ANSWER QUIET(cur)
#endif

#ifdef M_JUDGE_BEFORE_CANCEL
#define STARTS_JUDGING (1)
#define CANCEL_DRAINED (!OUTSTANDING && phase != VERIFYING)
#else
#define STARTS_JUDGING (LIVE_SEND && UNHELD)
#ifdef M_CANCEL_ENDS_UNDRAINED
#define CANCEL_DRAINED (1)
#else
#define CANCEL_DRAINED (!OUTSTANDING)
#endif
#endif
#ifdef M_STOP_ENDS_UNDRAINED
#define STOP_DRAINED (1)
#else
#define STOP_DRAINED (!OUTSTANDING)
#endif

/* ---- what must hold ---------------------------------------------------------------------- */
inline end(p) {
    assert(!ENDED);                                              /* P5 */
    if
    :: p == SUCCEEDED ->
           assert(!mark);                                        /* P2: a cancel beats success */
           assert(verdict > 0 && verdict == ALLEFF)              /* P7: fresh, and true */
    :: p == FAILED -> assert(!mark)                              /* a cancel beats the reason */
    :: else
    fi;
    assert(ROWDONE(0) && ROWDONE(NI-1));                         /* P9 */
    phase = p; holder = 0; act = NOTHING; answer = NONE; looks = 0; verdict = 0;
    cancelling = 0; stopping = 0; args = 0; cur = 0; tries[0] = 0; tries[NI-1] = 0; /* fewer states */
}

inline land(i, g, odd) {
    eff[i]++;
    assert(eff[i] <= 1);                                         /* P1 */
    assert(!ENDED || row[i] == UNRESOLVED);                      /* P3 */
    assert(!odd);                                                /* P8 */
#ifdef STRICT_CANCEL
    assert(!mark);
#endif
    under[i] = g
}

/* ---- pieces of transactions -------------------------------------------------------------- */
inline close(s) {            /* the row says s, and the step is over */
    row[cur] = s; act = NOTHING; answer = NONE; looks = 0; args = 0; cur = 0
}

inline not_applied() {       /* surely no effect: tried again while that is allowed */
    row[cur] = NOTAPPLIED; answer = NONE; looks = 0;
    if
    :: tries[cur] < TRIES && !cancelling && !stopping -> act = BACKOFF
    :: act = NOTHING; args = 0; cur = 0
    fi
}

inline orphan() {            /* what became of what the last holder had open */
    if
#ifdef T
    :: act == INFLIGHT -> not_applied()
#else
#ifdef M_ORPHAN_IS_NOT_APPLIED
    :: act == INFLIGHT -> not_applied()
#else
    :: act == INFLIGHT -> act = UNKNOWN; answer = NONE
#endif
#endif
    :: act == LOOKING -> act = UNKNOWN; answer = NONE
    :: else
    fi;
    looks = 0
}

inline take_slot(s) {
    if
    :: life[0] == FREE -> s = 0
    :: life[0] != FREE && life[1] == FREE -> s = 1
    :: else -> s = 2
    fi
}

inline leave(s) {            /* nobody waits for it any more; it may still happen */
    if
    :: s == SLOTS -> skip
#ifdef T
    :: s < SLOTS -> forget(s)
#else
    :: s < SLOTS && life[s] >= SILENT -> forget(s)
#endif
    :: else -> alone[s] = 1
    fi;
    s = SLOTS
}

inline forget(s) {
    life[s] = FREE; ofI[s] = 0; ofGen[s] = 0; alone[s] = 0; strange[s] = 0;
#ifdef DUP
    copied[s] = 0;
#endif
#ifdef LF
    ofTok[s] = 0;
#endif
}

inline authorise(w, s) {     /* ActionAuthorised: every condition of this send, and its record */
    P4(w);
    assert(!ENDED);                                              /* P5 */
    assert(!mark);                                               /* P2 */
    assert(!hold);                                               /* a kill switch stops sends */
    assert(!stopping);                                           /* an ending run starts nothing */
    take_slot(s);
    life[s] = HELD; ofI[s] = cur; ofGen[s] = gen[cur];
    strange[s] = mytool;
#ifdef APPROVAL
    strange[s] = (mytool || !(apI == cur && apArgs == args));    /* P8, seen when it lands */
    if
    :: act != BACKOFF && act != UNKNOWN ->
           apUses++; assert(apUses == 1);                        /* P8: once */
           assert(!apOld);
           ap = CONSUMED
    :: else
    fi;
#endif
#ifdef KLP
    assert(!(knowntomb[cur] && gen[cur] == 0));                  /* a sealed key is never sent */
#endif
#ifdef LF
    token++;
#ifdef M_TOKEN_PER_LEASE
    ofTok[s] = epoch;
#else
    ofTok[s] = token;
#endif
#endif
    tries[cur]++;
    given++; assert(given <= BUDGET);                            /* P6 */
#ifndef M_CHARGE_AFTER
    spent++;
#endif
#ifndef M_EFFECT_BEFORE_INTENT
    row[cur] = FLYING; act = INFLIGHT; looks = 0;
#endif
}

#ifdef APPROVAL
#ifdef M_APPROVAL_TWICE
#define AP_STATUS (ap == GRANTED || ap == CONSUMED)
#else
#define AP_STATUS (ap == GRANTED)
#endif
#ifdef M_APPROVAL_UNBOUND
#define AP_BOUND (1)
#else
#define AP_BOUND (apI == cur && apArgs == args)
#endif
#ifdef M_APPROVAL_EXPIRED
#define AP_FRESH (1)
#else
#define AP_FRESH (!apOld)
#endif
#define HAS_APPROVAL (AP_STATUS && AP_BOUND && AP_FRESH)
#else
#define HAS_APPROVAL (1)
#endif

#ifdef LF
#define LOOKED found = 0; seal = 0
#else
#define LOOKED found = 0
#endif

#ifdef LIVENESS
#define TIMED_OUT (life[s] == SILENT)
#else
#define TIMED_OUT (1)
#endif
#ifdef M_REGISTRY_UNREAD
#define SAME_CODE (1)
#else
#define SAME_CODE (tool == 0)
#endif
#ifdef BOUNDED
#define EPOCH_LEFT (epoch < BOUNDED)
#else
#define EPOCH_LEFT (1)
#endif
#define WANTS(i) ((row[i] == NEW || row[i] == NOTAPPLIED) && tries[i] < TRIES)
#define SOMETHING_TO_DO ((act != QUESTION && act != ASKED) || (mark && !cancelling) || \
                         (mark && act == ASKED))

/* ---- a worker: takes the run, then decides, appends, performs (runner/loop.py) ------------ */
proctype Worker(byte me) {
    byte s = SLOTS;          /* the request that it waits for */
    byte seen = 0;           /* what an evaluator read */
    bit  found = 0;
    bit  mytool = 0;
#ifdef LF
    byte seal = 0;
#endif

outside:
    atomic {
        leave(s); seen = 0; found = 0; mytool = 0;
#ifdef LF
        seal = 0;
#endif
        do
        :: ENDED -> goto over
#ifdef BOUNDED
        :: epoch == BOUNDED && holder != me && !ENDED && holder != 0 -> goto over
#endif
        :: !ENDED && SAME_CODE && EPOCH_LEFT && SOMETHING_TO_DO -> break
        od;
        /* ACQUIRE: the lease, what the last holder left open, and the marks, in one commit */
#ifdef BOUNDED
        epoch++;
#endif
        mytool = tool;
#ifdef M_TAKEOVER_KEEPS_TOKEN
        if :: holder == 0 -> holder = me :: else fi;
#else
        holder = me;
#endif
        orphan();
        cancelling = mark
    };

decide:
    if
    :: EPOCH_LEFT -> goto outside                                 /* it dies, memory and all */
    :: atomic { ENDED -> goto over }
    :: atomic { holder != me && !ENDED -> goto outside }

    /* cancelled, unknown_outcome, stopping, deadline: kernel/decide.py in this order */
    :: atomic { MINE(me) && mark && !cancelling -> P4(me); cancelling = 1; goto decide }

    :: atomic { MINE(me) && cancelling && CANCEL_DRAINED -> P4(me); end(CANCELLED); goto over }

    :: atomic { MINE(me) && act == UNKNOWN && MUST_LOOK && BOUND_OVER && TOKEN_LEFT ->
           P4(me);                                                /* LookUpStarted */
           act = LOOKING; looks++;
#ifdef LF
           token++; seal = token; sealing = token;
#ifdef M_TOKEN_PER_LEASE
           seal = epoch; sealing = epoch;
#endif
#endif
#ifdef KLP
           sealsent[cur] = sealsent[cur] | (1 << gen[cur]);
#endif
           goto look }

    :: atomic { MINE(me) && act == UNKNOWN && !MUST_LOOK && MAY_RESEND &&
                SLOT_FREE && TOKEN_LEFT && UNHELD_AGAIN && LIVE_RESEND ->
           authorise(me, s); answer = RESENT; goto wait }

    :: atomic { MINE(me) && act == UNKNOWN && !MUST_LOOK && !MAY_RESEND ->
           P4(me); act = QUESTION; holder = 0; goto outside }     /* QuestionAsked, released */
#ifdef LF
    :: atomic { MINE(me) && act == UNKNOWN && MUST_LOOK && !TOKEN_LEFT ->
           P4(me); act = QUESTION; holder = 0; goto outside }     /* the model's bound */
#endif
#ifdef M_RETRY_BLIND
    :: atomic { MINE(me) && act == UNKNOWN && !cancelling && !stopping && UNHELD && !mark &&
                tries[cur] < TRIES && AFFORDABLE && SLOT_FREE && TOKEN_LEFT ->
           authorise(me, s); goto wait }
#endif

    :: atomic { MINE(me) && stopping && !cancelling && STOP_DRAINED && LIVE_END ->
           P4(me); end(FAILED); goto over }

    :: atomic { MINE(me) && !stopping && !cancelling && OUTSTANDING && act == UNKNOWN ->
           P4(me); stopping = 1; goto decide }                    /* StopDue: a deadline passed */

    :: atomic { MINE(me) && !stopping && !cancelling && !OUTSTANDING && LIVE_END ->
           P4(me); end(FAILED); goto over }                       /* any reason, nothing open */

    /* verify */
    :: atomic { MINE(me) && phase == VERIFYING && !OUTSTANDING && !stopping &&
                STARTS_JUDGING -> P4(me); goto judge }             /* EvaluationStarted */
#ifdef M_STALE_VERDICT
    :: atomic { MINE(me) && phase == VERIFYING && !OUTSTANDING && verdict > 0 && LIVE_END ->
           P4(me); end(SUCCEEDED); goto over }
#endif

    /* call */
    :: atomic { phase == RUNNING && SENDABLE(me) && UNHELD && !stopping &&
                ((act == PROPOSED && HAS_APPROVAL) || (act == APPROVED && HAS_APPROVAL) ||
                 act == BACKOFF) ->
           authorise(me, s); answer = NONE; goto wait }
#ifdef APPROVAL
    :: atomic { MINE(me) && phase == RUNNING && !cancelling && !stopping &&
                (act == PROPOSED || act == APPROVED) && !HAS_APPROVAL ->
           P4(me); act = ASKED; ap = OPEN; apI = cur; apArgs = args; apOld = 0; apUses = 0;
           holder = 0; goto outside }
    :: atomic { MINE(me) && act == APPROVED && !cancelling && !stopping ->
           P4(me); act = NOTHING; args = 0; cur = 0; goto decide } /* withdrawn; the grant stays */
#endif

    /* ask: the agent proposes anything, claims that it is done, or gives up (FAILED above) */
    :: atomic { MINE(me) && phase == RUNNING && act == NOTHING && !cancelling && !stopping &&
                (WANTS(0) || WANTS(NI-1) || !BORED) ->
           P4(me);
           if
           :: WANTS(0) -> cur = 0; act = PROPOSED
           :: NI > 1 && WANTS(NI-1) -> cur = NI - 1; act = PROPOSED
           :: !BORED -> phase = VERIFYING
           fi;
#ifdef APPROVAL
           if :: act == PROPOSED -> args = 0 :: act == PROPOSED -> args = 1 :: else fi;
#endif
           goto decide }
#ifdef M_SUCCESS_ON_SAY_SO
    :: atomic { MINE(me) && act == NOTHING && !stopping && LIVE_END ->
           P4(me); end(SUCCEEDED); goto over }
#endif
    fi;

wait:
    if
    :: atomic { holder != me || ENDED -> goto outside }
    :: EPOCH_LEFT -> goto outside
#ifdef T
    /* OUTCOME of a staged write: the effect is part of the commit, unless the mark is set */
    :: atomic { MINE(me) && LIVE_STAGE ->
           P4(me);
           land(cur, 0, strange[s]); close(APPLIED); forget(s); s = SLOTS; goto decide }
    :: atomic { MINE(me) && mark ->
           P4(me); cancelling = 1; close(NOTAPPLIED); forget(s); s = SLOTS; goto decide }
    :: atomic { MINE(me) -> P4(me); not_applied(); forget(s); s = SLOTS; goto decide }
#else
    :: atomic { MINE(me) && life[s] == DONE ->
           P4(me);
#ifdef M_CHARGE_AFTER
           spent++;
#endif
           close(APPLIED); forget(s); s = SLOTS; goto decide }
    :: atomic { MINE(me) && life[s] == REFUSED ->
           P4(me);
#ifdef M_CHARGE_AFTER
           spent++;
#endif
           if
#ifndef M_REFUSED_RESEND_SETTLES
           :: answer == RESENT -> act = UNKNOWN; answer = NONE; looks = 0
#endif
           :: else -> not_applied()
           fi;
           forget(s); s = SLOTS; goto decide }
    :: atomic { MINE(me) && life[s] == UNCLEAR ->
           P4(me);
#ifdef M_FENCE_REFUSAL_IS_NO_EFFECT
           not_applied();
#else
           act = UNKNOWN; answer = NONE; looks = 0;
#endif
           forget(s); s = SLOTS; goto decide }
    :: atomic { MINE(me) && TIMED_OUT ->                          /* no answer in time */
           P4(me); act = UNKNOWN; answer = NONE; looks = 0; leave(s); goto decide }
#endif
    fi;

look:                        /* at the receiver: seal, then read, as one call of the tool */
    atomic {
        found = 0;
        if
#ifdef LF
        :: MINE(me) && seal >= newest -> newest = seal; found = (eff[cur] > 0);
               if :: sealing <= newest -> sealing = 0 :: else fi
        :: MINE(me) && seal < newest -> goto unread
#else
        :: MINE(me) ->
#ifdef KLP
           found = (eff[cur] > 0 && under[cur] == gen[cur] && !forgot[cur]);
           if
           :: !found && !forgot[cur] -> tombs[cur] = tombs[cur] | (1 << gen[cur])
           :: else
           fi
#else
#ifdef KEYED
           found = (eff[cur] > 0 && !forgot[cur])
#else
           found = (eff[cur] > 0)
#endif
#endif
#endif
        :: goto unread
        fi
    };
    if
    :: atomic { MINE(me) && act == LOOKING && found -> P4(me); close(APPLIED); LOOKED; goto decide }
    :: atomic { MINE(me) && act == LOOKING && !found ->
           P4(me);
#ifdef ABSENT_IS_FINAL
#ifndef M_ABSENT_AFTER_RETENTION
           if
           :: forgot[cur] -> act = UNKNOWN; answer = ABSENT; LOOKED; goto decide
           :: else
           fi;
#endif
#ifdef KLP
           knowntomb[cur] = (knowntomb[cur] || gen[cur] == 0);
#ifndef M_TOMBSTONED_KEY_AGAIN
           if :: gen[cur] == 0 -> gen[cur] = 1 :: else fi;
#endif
#endif
           not_applied();
#else
           act = UNKNOWN; answer = ABSENT; looks = 0;
#endif
           LOOKED; goto decide }
    :: atomic { holder != me || ENDED -> goto outside }
    :: EPOCH_LEFT -> goto outside
    fi;

unread:                      /* the look-up gave no answer */
    if
    :: atomic { MINE(me) && act == LOOKING ->
           P4(me);
#ifdef M_NO_ANSWER_IS_ABSENT
           not_applied();
#else
           act = UNKNOWN; answer = NONE;
#endif
           LOOKED; goto decide }
    :: atomic { holder != me || ENDED -> goto outside }
    fi;

judge:                       /* the evaluator reads outside; the verdict is another commit */
    atomic { seen = ALLEFF };
    if
    :: atomic { MINE(me) && phase == VERIFYING && seen > 0 && LIVE_END ->
           P4(me); verdict = seen; seen = 0; end(SUCCEEDED); goto over }
#ifdef M_JUDGE_BEFORE_CANCEL
    :: atomic { MINE(me) && phase == VERIFYING && seen > 0 && !LIVE_END -> seen = 0; goto decide }
#endif
    :: atomic { MINE(me) && phase == VERIFYING ->                 /* another criterion fails */
           P4(me); phase = RUNNING;
#ifdef LIVENESS
           fails++;
#endif
#ifdef M_STALE_VERDICT
           verdict = seen;
#endif
           seen = 0; goto decide }
    :: atomic { holder != me || ENDED -> goto outside }
    :: EPOCH_LEFT -> goto outside
    fi;

over:
    atomic { leave(s); seen = 0 }
}

/* ---- the receiver, the network, and senders whose worker may be long gone ----------------- */
inline answered(s, how) {
    if
    :: alone[s] -> forget(s)
    :: else -> life[s] = how
    fi
}

#ifdef LF
#define TAKES_TOK(s) (ofTok[s] >= newest)
#else
#define TAKES_TOK(s) (1)
#endif
#ifdef KLP
#define TAKES_SEAL(s) (!(tombs[ofI[s]] & (1 << ofGen[s])))
#else
#define TAKES_SEAL(s) (1)
#endif
#ifdef DEDUPES
#define TAKES_KEY(s) (!(eff[ofI[s]] > 0 && under[ofI[s]] == ofGen[s] && !forgot[ofI[s]]))
#else
#define TAKES_KEY(s) (1)
#endif
#if defined(CAS) && !defined(M_CONDITION_READ_AGAIN)
#define TAKES_REF(s) (ref[ofI[s]] == 0)
#else
#define TAKES_REF(s) (1)
#endif
#define TAKES(s) (TAKES_TOK(s) && TAKES_SEAL(s) && TAKES_KEY(s) && TAKES_REF(s))

#if defined(DUP) && !defined(M_REFUSED_COPY_SETTLES)
#define SINGLE(s) (!copied[s])         /* an adapter that repeats must not call that definite */
#else
#define SINGLE(s) (1)
#endif

inline deliver(s) {
    if
    :: SINGLE(s) -> answered(s, REFUSED)                          /* rate limit, not allowed, … */
#ifdef LF
    :: ofTok[s] < newest -> answered(s, UNCLEAR)
#endif
#ifdef KLP
    :: tombs[ofI[s]] & (1 << ofGen[s]) -> answered(s, UNCLEAR)
#endif
#ifdef DEDUPES
    :: eff[ofI[s]] > 0 && under[ofI[s]] == ofGen[s] && !forgot[ofI[s]] -> answered(s, DONE)
#endif
#ifdef CAS
#ifndef M_CONDITION_READ_AGAIN
    :: ref[ofI[s]] != 0 -> answered(s, UNCLEAR)
#endif
#endif
    :: TAKES(s) ->
#ifdef LF
           newest = ofTok[s];
           if :: sealing <= newest -> sealing = 0 :: else fi;
#endif
#ifdef CAS
           ref[ofI[s]] = 1;
#endif
           land(ofI[s], ofGen[s], strange[s]);
           answered(s, DONE)
    fi
}


inline send(s) {
#ifdef M_DEFINITION_READ_AT_SEND
    strange[s] = (strange[s] || tool);
#endif
    life[s] = WIRE
}

#ifdef T
#define MOVES(k)
#else
#ifdef DUP
#define REPEATS(k) :: atomic { life[k] == WIRE && !alone[k] && SLOT_FREE -> s = k; repeat(s); s = 0 }
#else
#define REPEATS(k)
#endif
#define MOVES(k) \
    :: atomic { life[k] == HELD -> s = k; send(s); s = 0 } \
    :: atomic { life[k] == HELD -> s = k; answered(s, SILENT); s = 0 } \
    :: atomic { life[k] == WIRE -> s = k; deliver(s); s = 0 } \
    :: atomic { life[k] == WIRE -> s = k; answered(s, SILENT); s = 0 } \
    REPEATS(k)
#endif

#ifdef DUP
inline repeat(s) {           /* a copy that nobody waits for is under way as well */
    take_slot(c);
    life[c] = WIRE; ofI[c] = ofI[s]; ofGen[c] = ofGen[s]; strange[c] = strange[s]; alone[c] = 1;
#ifdef LF
    ofTok[c] = ofTok[s];
#endif
    copied[s] = 1;
    c = 0
}
#endif

proctype Outside() {
    byte s = 0;
#ifdef DUP
    byte c = 0;
#endif
end_outside:
    do
    :: false
    MOVES(0)
    MOVES(1)
    MOVES(2)
#ifdef LF
    :: atomic { sealing > newest -> newest = sealing; sealing = 0 } /* a late seal */
#endif
#ifdef KLP
    :: atomic { (sealsent[0] & 1) && !(tombs[0] & 1) && !(eff[0] > 0 && under[0] == 0) &&
                !forgot[0] -> tombs[0] = tombs[0] | 1 }
    :: atomic { NI > 1 && (sealsent[NI-1] & 1) && !(tombs[NI-1] & 1) &&
                !(eff[NI-1] > 0 && under[NI-1] == 0) && !forgot[NI-1] ->
                tombs[NI-1] = tombs[NI-1] | 1 }
#endif
#ifdef FORGET
    :: atomic { tries[0] > 0 && !forgot[0] && QUIET(0) -> forgot[0] = 1;
#ifdef KLP
                tombs[0] = 0; sealsent[0] = 0
#endif
              }
#endif
#ifdef CAS
#ifdef OTHERS_WRITE
    :: atomic { ref[0] == 0 -> ref[0] = 2 }                       /* somebody else was first */
#endif
#ifdef VALUES_RETURN
    :: atomic { ref[0] == 1 -> ref[0] = 0 }                       /* and the old value came back */
#endif
#endif
    od
}

/* ---- people ------------------------------------------------------------------------------ */
proctype Canceller() {       /* app/ending.py, cancel: the mark, then a visit if nobody holds it */
    atomic {
        if
        :: !ENDED -> mark = 1
        :: goto gone
        fi
    };
    if
    :: atomic { !ENDED ->                                         /* a visit may be a take-over */
           if :: EPOCH_LEFT -> skip :: else -> goto gone fi;
           holder = 0; orphan(); cancelling = 1;
           if
           :: CANCEL_DRAINED -> end(CANCELLED)
           :: else
           fi }
    :: true                                                       /* or it dies before the visit */
    fi;
gone:
    skip
}

proctype Person() {          /* kernel/observe_people.py; the answer is a visit of its own */
end_person:
    do
    :: atomic { act == QUESTION && !ENDED && (SAFE_TO_ANSWER || eff[cur] > 0) ->
           if
           :: eff[cur] > 0 -> close(APPLIED)
           :: eff[cur] == 0 && SAFE_TO_ANSWER -> close(NOTAPPLIED)
           fi }
#ifdef GIVE_UP
    :: atomic { act == QUESTION && !ENDED -> close(UNRESOLVED); stopping = 1 }
#endif
#ifdef LOOK_AGAIN
    :: atomic { act == QUESTION && !ENDED -> act = UNKNOWN; answer = NONE; looks = 0 }
#endif
#ifdef APPROVAL
    :: atomic { act == ASKED && !ENDED && !cancelling ->
           if
           :: ap = GRANTED; act = APPROVED
           :: args = 1 - args; apArgs = args; ap = GRANTED; act = APPROVED   /* changed by them */
           :: ap = NONE; act = NOTHING; args = 0; cur = 0                    /* rejected */
           :: !mark -> end(FAILED)                                           /* expired */
           fi }
    :: atomic { ap == GRANTED && !apOld -> apOld = 1 }                       /* time passes */
#endif
    :: atomic { ENDED -> break }
    od
}

proctype Operator() {        /* kill, and later unkill */
    if
    :: atomic { hold = 1 }; if :: hold = 0 :: true fi
    :: true
    fi
}

proctype Vendor() {          /* the code of the tool changes under the run */
    if
    :: tool = 1
    :: true
    fi
}

/* states that must be reachable, or the rest says nothing */
#ifdef R_SUCCEEDED_WITH_BOTH
#define REACH (phase == SUCCEEDED && eff[0] > 0 && eff[NI-1] > 0)
#endif
#ifdef R_FAILED_WITH_EFFECT
#define REACH (phase == FAILED && eff[0] > 0)
#endif
#ifdef R_CANCELLED_WITH_EFFECT
#define REACH (phase == CANCELLED && eff[0] > 0)
#endif
#ifdef R_CANCELLED_WITHOUT
#define REACH (phase == CANCELLED && eff[0] == 0 && given > 0)
#endif
#ifdef R_QUESTION
#define REACH (act == QUESTION)
#endif
#ifdef R_RESENT_BESIDE_A_ZOMBIE
#define REACH (answer == RESENT && act == INFLIGHT && life[0] == HELD && life[1] == HELD)
#endif
#ifdef R_ZOMBIE_LANDS_FIRST
#define REACH (answer == RESENT && act == INFLIGHT && eff[0] > 0 && life[0] == FREE && \
               life[1] == HELD)
#endif
#ifdef R_SECOND_GENERATION
#define REACH (eff[0] > 0 && under[0] == 1)
#endif
#ifdef R_ZOMBIE_MEETS_FENCE
#define REACH (life[0] == WIRE && ofTok[0] < newest)
#endif
#ifdef R_ZOMBIE_MEETS_TOMBSTONE
#define REACH (life[0] == WIRE && (tombs[0] & 1) && ofI[0] == 0 && ofGen[0] == 0)
#endif
#ifdef R_CONDITION_FAILS
#define REACH (life[0] == UNCLEAR)
#endif
#ifdef R_EFFECT_AFTER_MARK
#define REACH (mark && eff[0] > 0 && !ENDED)
#endif
#ifdef R_STOP_DRAINS
#define REACH (stopping && act == QUESTION)
#endif
#ifdef R_HELD_WHILE_UNKNOWN
#define REACH (hold && act == UNKNOWN)
#endif
#ifdef R_CHANGED_AND_SENT
#define REACH (ap == CONSUMED && apArgs == 1 && eff[0] > 0)
#endif
#ifdef R_GRANT_OUTLIVES_WITHDRAWAL
#define REACH (ap == GRANTED && act == NOTHING)
#endif
#ifdef R_RETRIED_UNDER_ONE_APPROVAL
#define REACH (ap == CONSUMED && act == INFLIGHT && tries[0] == 2)
#endif
#ifdef R_GIVEN_UP
#define REACH (phase == FAILED && row[0] == UNRESOLVED)
#endif
#ifdef REACH
proctype Probe() { end_probe: atomic { (REACH) -> assert(0) } }
#endif

init {
    atomic {
        run Outside();
        run Worker(1);
#if NW > 1
        run Worker(2);
#endif
        run Person();
#ifndef NO_CANCEL
        run Canceller();
#endif
#ifndef NO_KILL
        run Operator();
#endif
#ifdef VENDOR
        run Vendor();
#endif
#ifdef REACH
        run Probe();
#endif
    }
}

#ifdef LIVENESS
ltl settles { <> (ENDED || act == QUESTION || act == ASKED || hold || tool) }
#endif
