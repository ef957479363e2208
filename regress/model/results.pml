/*
 * Operation ids over take-over: two operations of one session, sent again and
 * again to one group, whose leaders change. What a gateway reports as failed or
 * false is never applied, and nothing is applied twice.
 *
 * Each rule has a name here and is in force unless the model is made with -D and
 * that name; README.md says what each stands for.
 *
 * The log is cut down to what a take-over can change: entries that are not
 * applied yet, of which any suffix may be lost. What the entries' conditions
 * come to is anybody's guess, each time.
 */

#define OPERATIONS 2
#ifndef SENDS
#define SENDS 2
#endif
/* The second operation only brings along that the first one is answered. */
#define MOST_SENDS(op) (op == 0 -> SENDS : 1)
#ifndef TAKE_OVERS
#define TAKE_OVERS 1
#endif
#define PENDING 2

/* Coarse ticks: many entries carry the same stamp. */
#define WINDOW 2 /* retry_window */
#ifndef LATEST
#define LATEST 4 /* when the world ends */
#endif
#ifdef SHORT_WINDOW
#define RESULT_KEPT (WINDOW / 2)
#else
#define RESULT_KEPT WINDOW
#endif
#ifdef SHORT_WATERMARK
#define WATERMARK_KEPT (WINDOW / 2)
#else
#define WATERMARK_KEPT WINDOW
#endif

mtype = { not_sent, flying, queued, taken };     /* a send */
mtype = { nothing, done, untrue, refused };      /* an answer, a result */
mtype = { idle, running, reported_done, reported_false, reported_failed,
	  reported_unknown };                    /* an operation */
mtype = { write, record_false, housekeeping };   /* an entry */

typedef send {
	mtype state = not_sent;
	mtype answer = nothing; /* on its way back */
	byte deadline;
	byte answered; /* the session needs no answer of operations below */
};
typedef operation {
	/* at the gateway */
	mtype state = idle;
	byte sends; /* the last send's number */
	byte refusals;
	send s[SENDS];
	/* in the group: the same at every member */
	mtype result = nothing;
	byte result_stamp;
	byte applied;
	/* at the leader */
	bit locked;
};
typedef entry {
	mtype kind;
	byte whose;
	byte by;
	byte stamp;
	byte answered;
};

operation o[OPERATIONS];
entry log[PENDING];
byte length;

byte answered;       /* the session's watermark, applied */
byte answered_stamp; /* of the entry of the session that came last */
byte last;           /* the highest stamp in the log ... */
byte last_applied;   /* ... and of what is applied */
byte now;
byte ahead;          /* how far the leader's clock is ahead of true time */
byte take_overs;
bit ready = 1;       /* the leader has applied what it found in the log */

/* ---- what the rules are made of ---- */

#define MAX(a, b) (a > b -> a : b)
#define STAMP MAX(last, (now + ahead))

#ifdef ANY_WATERMARK
#define BELOW(op) false
#else
#define BELOW(op) ((op) < answered)
#endif

#ifdef NO_DEADLINE
#define LATE(deadline) false
#else
#define LATE(deadline) (STAMP > (deadline))
#endif

#ifdef NO_CAP
#define TOO_FAR(deadline) false
#else
#define TOO_FAR(deadline) ((deadline) > STAMP + WINDOW / 2)
#endif

/* At arrival, and again under the locks: it may have waited. */
#define REFUSED(op, number) \
	(BELOW(op) || LATE(o[op].s[number].deadline) || \
	 TOO_FAR(o[op].s[number].deadline))
#ifdef WATERMARK_AT_ARRIVAL
#define BELOW_AT_APPEND(op) false
#else
#define BELOW_AT_APPEND(op) BELOW(op)
#endif
#ifdef DEADLINE_AT_ARRIVAL
#define LATE_AT_APPEND(deadline) false
#else
#define LATE_AT_APPEND(deadline) LATE(deadline)
#endif
#define REFUSED_AT_APPEND(op, number) \
	(BELOW_AT_APPEND(op) || LATE_AT_APPEND(o[op].s[number].deadline))

#ifdef EARLY
#define SERVES true
#else
#define SERVES ready
#endif

#ifdef NO_LOCK
#define LOCKED(op) false
#else
#define LOCKED(op) o[op].locked
#endif

#ifdef NO_RESULT
#define RESULT(op) nothing
#else
#define RESULT(op) o[op].result
#endif

/* Under the locks; or before it waits for them. */
#ifdef RESULT_AT_ARRIVAL
#define RESULT_AT_APPEND(op) nothing
#else
#define RESULT_AT_APPEND(op) RESULT(op)
#endif

#ifdef ANY_SEND
#define OF_LAST_SEND(op, number) true
#else
#define OF_LAST_SEND(op, number) ((number) == o[op].sends - 1)
#endif

#ifdef REFUSED_IS_FAILED
#define NEVER_APPLIED(op) (o[op].refusals > 0)
#else
#define NEVER_APPLIED(op) (o[op].refusals == o[op].sends)
#endif

/* The first send's false is only an answer: nothing was sent before it. */
#ifdef FALSE_UNRECORDED
#define RECORDED(number) false
#else
#define RECORDED(number) ((number) > 0)
#endif

#define FINAL(op) (o[op].state != idle && o[op].state != running)
#define RUNS(op) (o[op].state == running)

/* ---- the gateway ---- */

/* The gateway's clock may say anything: so may the deadline. */
inline send_first(op, until)
{
	d_step {
		o[op].state == idle ->
		o[op].state = running;
		o[op].s[0].deadline = until;
		send_it(op, 0)
	}
}

inline send_again(op, until)
{
	d_step {
		RUNS(op) && o[op].sends < MOST_SENDS(op) ->
#ifdef MOVING_DEADLINE
		o[op].s[o[op].sends].deadline = until;
#else
		o[op].s[o[op].sends].deadline = o[op].s[0].deadline;
#endif
		send_it(op, o[op].sends)
	}
}

inline send_it(op, number)
{
	o[op].s[number].state = flying;
	o[op].s[number].answered = (FINAL(0) -> (FINAL(1) -> 2 : 1) : 0);
	printf("%d.%d is sent, until %d\n", op, number,
	    o[op].s[number].deadline);
	o[op].sends++
}
inline take_answer(op, number)
{
	d_step {
		RUNS(op) && o[op].s[number].answer != nothing ->
		if
		:: o[op].s[number].answer == done ->
			printf("%d reported done\n", op);
			o[op].state = reported_done
		:: o[op].s[number].answer == untrue &&
		   OF_LAST_SEND(op, number) ->
			printf("%d reported false\n", op);
			o[op].state = reported_false
		:: o[op].s[number].answer == refused ->
			printf("%d.%d is known as refused\n", op, number);
			o[op].refusals++
		:: else
		fi;
		o[op].s[number].answer = nothing;
		check(op);
		forget_answers(op)
	}
}

/* At its deadline, by a clock that may say anything. */
inline give_up(op)
{
	d_step {
		RUNS(op) ->
		if
		:: NEVER_APPLIED(op) ->
			printf("%d reported failed\n", op);
			o[op].state = reported_failed
		:: else -> o[op].state = reported_unknown
		fi;
		check(op);
		forget_answers(op)
	}
}

/* Nobody waits for them any more: one state instead of many. */
inline forget_answers(op)
{
	if
	:: !RUNS(op) ->
		o[op].refusals = 0;
		o[op].s[0].answer = nothing;
		o[op].s[1].answer = nothing;
#if SENDS > 2
		o[op].s[2].answer = nothing
#endif
	:: else
	fi
}

inline reply(op, number, what)
{
	o[op].s[number].state = taken;
	o[op].s[number].deadline = 0;
	if
	:: RUNS(op) -> o[op].s[number].answer = what
	:: else
	fi
}

inline check(op)
{
	assert(o[op].applied <= 1);
	assert(o[op].applied == 0 || (o[op].state != reported_false &&
	                              o[op].state != reported_failed));
	assert(o[op].applied == 1 || o[op].state != reported_done)
}

/* ---- the leader ---- */

inline refuse(op, number)
{
	reply(op, number, refused);
#ifdef REPLAYED /* by a connection made anew */
	o[op].s[number].state = flying;
	o[op].s[number].deadline = o[op].s[0].deadline
#endif
}

inline arrive(op, number)
{
	d_step {
		o[op].s[number].state == flying ->
		if
		:: !SERVES || REFUSED(op, number) ->
			printf("%d.%d arrives, refused\n", op, number);
			refuse(op, number)
#ifdef RESULT_AT_ARRIVAL
		:: SERVES && !REFUSED(op, number) && RESULT(op) != nothing ->
			reply(op, number, RESULT(op))
#endif
		:: else ->
			printf("%d.%d arrives, waits\n", op, number);
			o[op].s[number].state = queued
		fi
	}
}

/* Under the locks: refuse, repeat the result, or append. */
inline propose(op, number, holds)
{
	d_step {
		o[op].s[number].state == queued && !LOCKED(op) &&
		length < PENDING ->
		if
		:: REFUSED_AT_APPEND(op, number) ->
			printf("%d.%d is refused at last\n", op, number);
			refuse(op, number)
		:: else ->
			if
			:: RESULT_AT_APPEND(op) != nothing ->
				printf("%d.%d has a result\n", op, number);
				reply(op, number, RESULT_AT_APPEND(op))
			:: RESULT_AT_APPEND(op) == nothing && holds ->
				append(write, op, number)
			:: RESULT_AT_APPEND(op) == nothing && !holds && RECORDED(number) ->
				append(record_false, op, number)
			:: else ->
				printf("%d.%d is false\n", op, number);
				reply(op, number, untrue)
			fi
		fi
	}
}

inline append(what, op, number)
{
	log[length].kind = what;
	log[length].whose = op;
	log[length].by = number;
	log[length].stamp = STAMP;
	log[length].answered = o[op].s[number].answered;
	last = log[length].stamp;
	o[op].locked = 1;
	printf("%d.%d appended: %e at %d\n", op, number, what, last);
	length++;
	reply(op, number, nothing)
}

inline keep_house()
{
	d_step {
		SERVES && length < PENDING && STAMP > last ->
		log[length].kind = housekeeping;
		log[length].stamp = STAMP;
		last = log[length].stamp;
		printf("housekeeping appended at %d\n", last);
		length++
	}
}

inline clear(at)
{
	log[at].kind = 0; log[at].whose = 0; log[at].by = 0;
	log[at].stamp = 0; log[at].answered = 0
}

/* The first entry has a majority, and is applied. */
inline apply()
{
	d_step {
		length > 0 ->
		printf("an entry is applied: %e\n", log[0].kind);
		if
		:: log[0].kind == write ->
			o[log[0].whose].applied++;
			check(log[0].whose);
			finish(log[0].whose, done)
		:: log[0].kind == record_false ->
			finish(log[0].whose, untrue)
		:: else
		fi;
		last_applied = log[0].stamp;
		forget(0);
		forget(1);
		if
		:: answered_stamp + WATERMARK_KEPT <= log[0].stamp -> answered = 0
		:: else
		fi;
		length--;
		log[0].kind = log[1].kind;
		log[0].whose = log[1].whose;
		log[0].by = log[1].by;
		log[0].stamp = log[1].stamp;
		log[0].answered = log[1].answered;
		clear(1);
		if
		:: length == 0 -> ready = 1
		:: else
		fi
	}
}

inline finish(op, what)
{
	o[op].result = what;
	o[op].result_stamp = log[0].stamp;
	o[op].locked = 0;
	reply(op, log[0].by, what);
	answered = MAX(answered, log[0].answered);
	answered_stamp = log[0].stamp
}

inline forget(op)
{
	if
	:: op < answered || o[op].result_stamp + RESULT_KEPT <= log[0].stamp ->
		o[op].result = nothing;
		o[op].result_stamp = 0
	:: else
	fi
}

/* Another member leads: what waits at the old one is gone, and so are any number
 * of entries at the log's end. */
inline take_over(kept, clock)
{
	d_step {
		take_overs < TAKE_OVERS && kept <= length ->
		take_overs++;
		printf("a take-over keeps %d entries, clock %d ahead\n", kept,
		    clock);
		ahead = clock;
		length = kept;
		last = (kept > 0 -> log[kept - 1].stamp : last_applied);
		ready = (kept == 0);
		drop_queue(0);
		drop_queue(1);
		if :: kept < 1 -> clear(0) :: else fi;
		if :: kept < 2 -> clear(1) :: else fi
	}
}

inline drop_queue(op)
{
	o[op].locked = 0;
	drop_send(op, 0);
	drop_send(op, 1);
#if SENDS > 2
	drop_send(op, 2)
#endif
}

inline drop_send(op, number)
{
	if
	:: o[op].s[number].state == queued ->
		o[op].s[number].state = taken;
		o[op].s[number].deadline = 0
	:: else
	fi
}

/* ---- who acts ---- */

/* The first operation's deadline may be any, the second's is a fair one. */
proctype gateway()
{
	do
	:: send_first(0, 1)
	:: send_first(0, 2)
	:: send_first(0, 3)
	:: send_first(0, 4)
	:: send_again(0, LATEST)
	:: take_answer(0, 0)
	:: take_answer(0, 1)
#if SENDS > 2
	:: take_answer(0, 2)
#endif
	:: give_up(0)
	:: send_first(1, now + 1)
	:: take_answer(1, 0)
	:: give_up(1)
	od
}

proctype proposals()
{
	do
	:: arrive(0, 0)
	:: arrive(0, 1)
	:: propose(0, 0, true)
	:: propose(0, 0, false)
	:: propose(0, 1, true)
	:: propose(0, 1, false)
#if SENDS > 2
	:: arrive(0, 2)
	:: propose(0, 2, true)
	:: propose(0, 2, false)
#endif
	:: arrive(1, 0)
	:: propose(1, 0, true)
	od
}

proctype group()
{
	do
	:: keep_house()
	:: apply()
	:: take_over(0, 0)
	:: take_over(0, 1)
	:: take_over(1, 0)
	:: take_over(1, 1)
	:: take_over(2, 0)
	:: take_over(2, 1)
	:: d_step { now < LATEST -> now++; printf("tick\n") }
	od
}

init
{
	atomic {
		run gateway(); run proposals(); run group()
	}
}
