#!/bin/sh
# Checks docs/internals/model/holdshort.pml with spin: the protocol under every receiver class,
# states that must be reachable, mutants that must be caught, promises that nobody can make.
# Usage: tools/run_model.sh [--quick] [--only TEXT]   exit 1 when anything is not as expected,
# 2 when spin or a C compiler is missing. Needs no network; works in a folder of its own.
set -u
model=$(cd "$(dirname "$0")/.." && pwd)/docs/internals/model/holdshort.pml
quick=0
only=''
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=1 ;;
    --only) only=${2:?--only needs a text} && shift ;;
    *) echo "run_model.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift
done
for need in spin gcc; do
    command -v $need >/dev/null 2>&1 && continue
    echo "make model needs $need: on Debian and Ubuntu, apt-get install spin gcc" >&2
    exit 2
done
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
bad=0
runs=0

# What an assertion of the model is about, for the reader of a line.
property() {
    case $1 in
    *'eff['*'<=1'*) echo 'P1 a second effect' ;;
    *'row['*'==4)'*'phase>='* | *'phase>='*'row['*) echo 'P3 an effect after the end' ;;
    *'row['*) echo 'P9 the log is not the truth' ;;
    *'strange'* | *'odd'*) echo 'P8 what was sent was not approved' ;;
    *'apUses'*) echo 'P8 an approval used twice' ;;
    *'apOld'*) echo 'P8 an expired approval used' ;;
    *'holder=='*) echo 'P4 a lost lease commits' ;;
    *'given'*) echo 'P6 over the budget' ;;
    *'verdict'*) echo 'P7 success without fresh evidence' ;;
    *'knowntomb'*) echo 'a sealed key is sent' ;;
    *'hold'*) echo 'a kill switch is ignored' ;;
    *'stopping'*) echo 'an ending run sends' ;;
    *'mark'*) echo 'P2 a cancel is ignored' ;;
    *'(phase'* | *'phase'*) echo 'P5 something after the end' ;;
    *'acceptance'*) echo 'P11 never comes to rest' ;;
    *'violated'*'0'*) echo 'reached' ;;
    *) echo "$1" ;;
    esac
}

# one EXPECTED NAME OPTIMISE PAN-COMPILE PAN-RUN DEFINES...
one() {
    expected=$1 name=$2 level=$3 compile=$4 run=$5
    shift 5
    case $name in *"$only"*) ;; *) return ;; esac
    runs=$((runs + 1))
    rm -f pan pan.* ./*.trail ./*.log
    began=$(date +%s)
    # shellcheck disable=SC2086 # the lists of options are meant to be split
    if ! { spin "$@" -a "$model" >spin.log 2>&1 &&
        gcc "$level" -w -DCOLLAPSE -DMEMLIM=8000 $compile -o pan pan.c 2>>spin.log; }; then
        echo "BROKEN     $name"
        cat spin.log
        bad=1
        return
    fi
    # shellcheck disable=SC2086
    ./pan -m2000000 $run >out.log 2>&1
    errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' out.log | head -1)
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' out.log | head -1)
    why=$(grep -m1 -E '^pan:.*(violated|invalid end state|acceptance|too small|out of memory)' out.log)
    whole=1
    grep -qE 'too small|out of memory|Search not completed|max search depth' out.log && whole=0
    ok=UNEXPECTED
    if [ "$expected" = pass ]; then
        [ "${errors:-1}" = 0 ] && [ $whole = 1 ] && ok=ok
    else
        [ "${errors:-0}" != 0 ] && ok=ok
    fi
    [ $ok = ok ] || bad=1
    text=''
    [ -n "$why" ] && text=$(property "$why")
    printf '%-10s %-5s %9s states %4ss  %-58s %s\n' $ok "$expected" "${states:-?}" \
        $(($(date +%s) - began)) "$name" "$text"
}

holds() { name=$1 && shift && one pass "$name" -O1 -DSAFETY '' "$@"; }
open_end() { name=$1 && shift && one pass "$name" -O1 -DSAFETY -E "$@"; }
reach() { name=$1 && shift && one catch "reach: $name" -O0 -DSAFETY -E "$@"; }
caught() { name=$1 && shift && one catch "$name" -O0 -DSAFETY -E "$@"; }
rests() { name=$1 && shift && one pass "$name" -O1 -DNFAIR=5 '-a -f -E' -DLIVENESS "$@"; }
restless() { name=$1 && shift && one catch "$name" -O1 -DNFAIR=5 '-a -f -E' -DLIVENESS "$@"; }

quick_settings() {
    echo '== the protocol: one intent, two workers, cancel and kill at any moment'
    holds 'T' -DT -DNI=1 -DSTRICT_CANCEL
    holds 'N' -DN -DNI=1
    holds 'K' -DK -DNI=1
    holds 'LB' -DLB -DNI=1
    holds 'CAS, others write too' -DCAS -DNI=1 -DOTHERS_WRITE -DNO_KILL
    holds 'LF, no kill' -DLF -DNI=1 -DTOKENS=4 -DNO_KILL
    echo '== mutants: each must be caught'
    caught 'no fence in the store' -DLF -DM_NO_FENCE
    caught 'the cancel mark is not read at AUTHORISE' -DK -DM_CANCEL_MARK_UNREAD
    caught '"absent" believed without seal or bound' -DL -DM_ABSENT_IS_FINAL
    caught 'an approval is consumed twice' -DN -DAPPROVAL -DM_APPROVAL_TWICE
    caught 'a person answers too early' -DN -DM_PERSON_ANSWERS_EARLY
}

all_settings() {
    echo '== the protocol, by receiver class: two workers, cancel and kill at any moment'
    holds 'T, strict cancel' -DT -DSTRICT_CANCEL
    holds 'KL+, one intent' -DKLP -DNI=1
    holds 'KL, one intent' -DKL -DNI=1
    holds 'K' -DK
    holds 'LF, one intent' -DLF -DNI=1 -DTOKENS=4
    holds 'LB' -DLB
    holds 'L' -DL
    holds 'CAS, others write too, one intent' -DCAS -DNI=1 -DOTHERS_WRITE
    holds 'N' -DN
    echo '== the same, harder'
    holds 'KL+, two intents, no kill, no cancel' -DKLP -DNO_KILL -DNO_CANCEL -DBUDGET=2
    holds 'LF, two intents, no kill, no cancel' -DLF -DTOKENS=5 -DNO_KILL -DNO_CANCEL -DBUDGET=2
    holds 'KL, two intents, no kill' -DKL -DNO_KILL -DBUDGET=2
    holds 'CAS, two intents, no kill' -DCAS -DNO_KILL -DBUDGET=2
    holds 'K, three attempts, one intent' -DK -DNI=1 -DTRIES=3
    holds 'N with approvals' -DN -DAPPROVAL -DNO_KILL -DBUDGET=2
    holds 'K with approvals, one intent' -DK -DAPPROVAL -DNI=1
    holds 'LF with approvals, one intent, no kill' -DLF -DAPPROVAL -DNI=1 -DTOKENS=4 -DNO_KILL
    holds 'K, the transport repeats requests, one intent' -DK -DDUP -DNI=1
    holds 'KL, the receiver forgets keys, one intent' -DKL -DFORGET -DNI=1
    holds 'K, the receiver forgets keys, one intent' -DK -DFORGET -DNI=1
    open_end 'K, the code changes under the run' -DK -DVENDOR -DNI=1
    open_end 'N with approvals, the code changes' -DN -DAPPROVAL -DVENDOR -DNI=1
    holds 'N, a person may look again or give up' -DN -DGIVE_UP -DLOOK_AGAIN
    holds 'L, a person may look again or give up' -DL -DGIVE_UP -DLOOK_AGAIN -DNI=1
    echo '== it comes to rest: end, or a person, whatever dies, if the last holder stays alive'
    rests 'T rests' -DT -DNI=1 -DBOUNDED=2
    rests 'KL rests' -DKL -DNI=1 -DBOUNDED=2 -DNO_KILL
    rests 'K rests' -DK -DNI=1 -DBOUNDED=2
    rests 'LF rests' -DLF -DNI=1 -DBOUNDED=2 -DTOKENS=4 -DNO_KILL -DNW=1
    rests 'KL+ rests' -DKLP -DNI=1 -DBOUNDED=2 -DNO_KILL -DNW=1
    rests 'LB rests' -DLB -DNI=1 -DBOUNDED=2
    rests 'N rests, with approvals' -DN -DAPPROVAL -DNI=1 -DBOUNDED=2
    restless 'verifies before it looks at a cancel' -DK -DNI=1 -DBOUNDED=2 -DM_JUDGE_BEFORE_CANCEL
    echo '== nothing is vacuous: spin "fails" by reaching the state'
    reach 'succeeded with both effects (K)' -DK -DR_SUCCEEDED_WITH_BOTH
    reach 'failed with an effect (LF)' -DLF -DR_FAILED_WITH_EFFECT
    reach 'cancelled with an effect (LF)' -DLF -DR_CANCELLED_WITH_EFFECT
    reach 'cancelled without one, although sent (N)' -DN -DR_CANCELLED_WITHOUT
    reach 'a person is asked (N)' -DN -DR_QUESTION
    reach 'a person is asked after looking (L)' -DL -DR_QUESTION
    reach 'two requests with one key under way (K)' -DK -DR_RESENT_BESIDE_A_ZOMBIE
    reach 'the older of them lands first (K)' -DK -DR_ZOMBIE_LANDS_FIRST
    reach 'applied under the second generation (KL+)' -DKLP -DR_SECOND_GENERATION
    reach 'a zombie meets the fence (LF)' -DLF -DR_ZOMBIE_MEETS_FENCE
    reach 'a zombie meets the tombstone (KL+)' -DKLP -DR_ZOMBIE_MEETS_TOMBSTONE
    reach 'the condition fails (CAS)' -DCAS -DOTHERS_WRITE -DR_CONDITION_FAILS
    reach 'marked as cancelled, and an effect since (K)' -DK -DR_EFFECT_AFTER_MARK
    reach 'an ending run drains (K)' -DK -DR_STOP_DRAINS
    reach 'held while an outcome is unknown (K)' -DK -DR_HELD_WHILE_UNKNOWN
    reach 'changed by a person, granted and applied (N)' -DN -DAPPROVAL -DR_CHANGED_AND_SENT
    reach 'a grant outlives a withdrawal (N)' -DN -DAPPROVAL -DR_GRANT_OUTLIVES_WITHDRAWAL
    reach 'retried under one approval (N)' -DN -DAPPROVAL -DR_RETRIED_UNDER_ONE_APPROVAL
    reach 'given up, unresolved (N)' -DN -DGIVE_UP -DR_GIVEN_UP
    echo '== mutants: each must be caught'
    mutants
    echo '== what nobody can promise, or only with more than the class asks for'
    caught 'no effect after the cancel request: K' -DK -DSTRICT_CANCEL
    caught 'no effect after the cancel request: LF' -DLF -DSTRICT_CANCEL
    caught 'no effect after the cancel request: N' -DN -DSTRICT_CANCEL
    caught 'CAS whose old value comes back' -DCAS -DVALUES_RETURN
    caught 'a receiver without key behind a repeating transport: LF' -DLF -DDUP
    caught 'a receiver without key behind a repeating transport: N' -DN -DDUP
    caught 'KL+ looked up after the retention of its key' -DKLP -DFORGET -DNI=1 \
        -DM_ABSENT_AFTER_RETENTION
    holds 'KL+, and "absent" counts inside the retention only' -DKLP -DFORGET -DNI=1 -DNO_KILL
    echo '== mutants that change nothing here: other guards hold too'
    holds 'a refusal by the fence taken for "no effect" (LF)' -DLF -DNI=1 -DTOKENS=4 -DNO_KILL \
        -DM_FENCE_REFUSAL_IS_NO_EFFECT
    holds 'the key is resent before looking (KL)' -DKL -DNI=1 -DM_RESEND_BEFORE_LOOKING
}

mutants() {
    caught 'no fence in the store' -DLF -DM_NO_FENCE
    caught 'no fence in the store, its damage (LB)' -DLB -DM_NO_FENCE -DM_LOOK_PAST_FENCE
    caught 'a take-over keeps the token, its damage (LF)' -DLF -DM_TAKEOVER_KEEPS_TOKEN \
        -DM_LOOK_PAST_FENCE
    caught 'retry without finding out (N)' -DN -DM_RETRY_BLIND
    caught 'retry without finding out (LF)' -DLF -DM_RETRY_BLIND
    caught 'a new key for each attempt (K)' -DK -DM_KEY_PER_ATTEMPT
    caught '"absent" believed without seal or bound (L)' -DL -DM_ABSENT_IS_FINAL
    caught '"absent" believed without seal or bound (KL)' -DKL -DM_ABSENT_IS_FINAL
    caught 'the token is that of the lease (LF)' -DLF -DBOUNDED=3 -DM_TOKEN_PER_LEASE
    caught 'the bound covers the network only (LB)' -DLB -DM_BOUND_OF_THE_NET_ONLY
    caught 'the effect comes before its record (LF)' -DLF -DM_EFFECT_BEFORE_INTENT
    caught 'the cancel mark is not read at AUTHORISE (K)' -DK -DM_CANCEL_MARK_UNREAD
    caught 'a cancel ends what is outstanding (K)' -DK -DM_CANCEL_ENDS_UNDRAINED
    caught 'a due stop ends what is outstanding (K)' -DK -DM_STOP_ENDS_UNDRAINED
    caught 'the key is resent after a cancel (K)' -DK -DM_RESEND_AFTER_CANCEL
    caught 'the key is resent in a run that must end (K)' -DK -DM_RESEND_WHILE_STOPPING
    caught 'a kill switch is not read at AUTHORISE (N)' -DN -DM_HOLD_UNREAD
    caught 'a kill switch is not read at a resend (K)' -DK -DM_HOLD_UNREAD_AT_RESEND
    caught 'the budget is charged afterwards (K)' -DK -DM_CHARGE_AFTER
    caught 'the budget is not read at AUTHORISE (N)' -DN -DM_BUDGET_UNREAD
    caught 'success because the agent says so (K)' -DK -DM_SUCCESS_ON_SAY_SO
    caught 'a verdict older than the last effect counts (K)' -DK -DM_STALE_VERDICT
    caught 'the cancel mark is not read at success (K)' -DK -DM_SUCCESS_IGNORES_CANCEL
    caught 'the definition is read again at the send (K)' -DK -DVENDOR -DM_DEFINITION_READ_AT_SEND
    caught 'a take-over does not compare the code (K)' -DK -DVENDOR -DM_REGISTRY_UNREAD
    caught 'a person answers too early (N)' -DN -DM_PERSON_ANSWERS_EARLY
    caught 'an approval is consumed twice (N)' -DN -DAPPROVAL -DM_APPROVAL_TWICE
    caught 'an approval is not bound to the call (N)' -DN -DAPPROVAL -DM_APPROVAL_UNBOUND
    caught 'an expired approval is used (N)' -DN -DAPPROVAL -DM_APPROVAL_EXPIRED
    caught 'a tombstoned key is used again (KL+)' -DKLP -DM_TOMBSTONED_KEY_AGAIN
    caught 'a staged write is applied after a cancel (T)' -DT -DSTRICT_CANCEL \
        -DM_STAGED_AFTER_CANCEL
    caught 'what an orphan sent is taken for not applied (N)' -DN -DM_ORPHAN_IS_NOT_APPLIED
    caught 'a look-up without answer is "absent" (LF)' -DLF -DM_NO_ANSWER_IS_ABSENT
    caught 'a refused resend settles the first attempt (K)' -DK -DM_REFUSED_RESEND_SETTLES
    caught 'a refused copy settles the request (K)' -DK -DDUP -DM_REFUSED_COPY_SETTLES
    caught 'the condition is read again at a resend (CAS)' -DCAS -DM_CONDITION_READ_AGAIN
    caught 'a key is resent after its retention (K)' -DK -DFORGET -DM_RETENTION_UNREAD
}

if [ $quick = 1 ]; then quick_settings; else all_settings; fi
[ $runs -gt 0 ] || { echo "run_model.sh: no setting has '$only' in its name" >&2 && exit 2; }
[ $bad = 0 ] && echo "$runs settings, all as expected" || echo "$runs settings, NOT as expected"
exit $bad
