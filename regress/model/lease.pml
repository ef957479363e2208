/*
 * Leases and take-over of one group with three members: who may vote when, what
 * a leader may answer from its own rows, what becomes of acknowledged writes.
 *
 * Each rule has a name here and is in force unless the model is made with -D and
 * that name; README.md says what each stands for. Actions are atomic, messages
 * may be late, repeated or never come, and a member that does nothing while the
 * clock goes on is one that is paused.
 */

#define MEMBERS 3
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef CAMPAIGNS
#define CAMPAIGNS 2
#endif
#ifndef WRITES
#define WRITES 1
#endif
#ifndef RESTARTS
#define RESTARTS 1
#endif

/*
 * Ticks. The worst pair of clocks: the leader's is exact, the granter's gains
 * DRIFT in one lease. A slower granter only refuses its vote for longer.
 */
#ifndef LEASE
#define LEASE 2
#endif
#define DRIFT 1
#define GRANTED (LEASE - DRIFT) /* how long a grant lasts, in true time */
#ifdef NO_MARGIN
#define COUNTED LEASE
#else
#define COUNTED (LEASE - 1) /* how long the leader counts on it */
#endif

#define BIT(x) (1 << (x))
#define MAJORITY(set) ((set) == 3 || (set) >= 5)

/* Ballots are compared as a whole: round, then member, then incarnation. */
#define BALLOT(round, member, incarnation) \
	(((round) * MEMBERS + (member)) * (RESTARTS + 1) + (incarnation))
#define OWNER(ballot) (((ballot) / (RESTARTS + 1)) % MEMBERS)

mtype = { follower, candidate, leader };
mtype = { none, sent, answered, listed }; /* a heartbeat and its answer */

typedef member {
	/* Durable. A log is told by the ballot of its last entry and the set of
	 * writes in it: within a ballot, more writes are a longer log. */
	byte promised; /* the ballot last voted for or acknowledged */
	byte log_ballot;
	byte log;
	byte incarnation;

	/* Lost by a restart. Timers count down to 0. */
	mtype role = follower;
	byte grant; /* runs for the owner of `promised` */
	byte lost;  /* members whose ballot it left for another's */
	byte pause; /* after a restart */
	byte heard; /* the leader whose entry came last */

	/* Of a leader. */
	byte lease;
	bit serves;    /* its own first entry is applied: it serves */
	byte applied; /* writes its reads see */
	bit stale;    /* a read missed an acknowledged write; not yet answered */

	/* Messages of its latest ballot, for anyone to take at any time. */
	byte ballot;
	byte request_ballot; /* the log that it asked for votes with ... */
	byte first;          /* ... and its writes: what it begins with */
	byte last;           /* all that it has appended since */
	bit elected;
	byte votes;
	byte acks;    /* of its first entry */
	byte present; /* members whose vote or acknowledgement, given since
	               * they were last started, counts for the lease */
	mtype beat[MEMBERS] = none;
	byte left[MEMBERS]; /* what is left to count on, were it answered */
}

member m[MEMBERS];

byte writes;         /* begun */
byte acknowledged;   /* the set of those that a client was told of */
byte owner[WRITES];  /* the ballot that appended it */
byte copies[WRITES]; /* members that acknowledged it to that ballot */
byte campaigns;
byte restarts;

/* ---- what the rules are made of ---- */

#ifdef ANY_OWNER
#define HOLDER(i) m[i].heard
#else
#define HOLDER(i) OWNER(m[i].promised)
#endif

/* Member i may not vote for c: it has granted the group to another. */
#define BOUND(i, c) (m[i].grant > 0 && HOLDER(i) != (c) && HOLDER(i) != (i))

#ifdef SELF_VOTE
#define MAY_CAMPAIGN(i) true
#else
#define MAY_CAMPAIGN(i) !BOUND(i, i)
#endif

#ifdef NO_RESTRICTION
#define UP_TO_DATE(c, i) true
#else
#define UP_TO_DATE(c, i) \
	(m[c].request_ballot > m[i].log_ballot || \
	 (m[c].request_ballot == m[i].log_ballot && m[c].first >= m[i].log))
#endif

#ifdef EARLY
#define SERVES(i) (m[i].role == leader)
#else
#define SERVES(i) (m[i].role == leader && m[i].serves)
#endif

#ifdef UNCHECKED_AFTER
#define MAY_ANSWER(i) true
#else
#define MAY_ANSWER(i) (SERVES(i) && m[i].lease > 0)
#endif

/* Leader i has j's vote or acknowledgement: before it sends a heartbeat whose
 * answer is to count. (Others bind nobody, and are left out.) */
#define KNOWN(i, j) ((m[i].present & BIT(j)) != 0)
#ifdef ANY_BALLOT
#define MAY_COUNT(i, j) true
#define STILL_COUNTS(i, j) true
#else
#ifdef SENT_BEFORE
#define MAY_COUNT(i, j) true
#define STILL_COUNTS(i, j) KNOWN(i, j)
#else
#define MAY_COUNT(i, j) KNOWN(i, j)
#define STILL_COUNTS(i, j) true
#endif
#endif

inline no_beats(i)
{
	m[i].beat[0] = none; m[i].left[0] = 0;
	m[i].beat[1] = none; m[i].left[1] = 0;
	m[i].beat[2] = none; m[i].left[2] = 0
}

inline step_down(i)
{
	m[i].role = follower;
	m[i].lease = 0;
	m[i].serves = 0;
	m[i].applied = 0;
#ifndef OTHER_BALLOT
	m[i].stale = 0;
#endif
	m[i].acks = 0;
	m[i].present = 0;
	m[0].lost = m[0].lost & (7 - BIT(i));
	m[1].lost = m[1].lost & (7 - BIT(i));
	m[2].lost = m[2].lost & (7 - BIT(i));
	no_beats(i)
}

/* Member i votes for or acknowledges ballot b. */
inline go_to(i, to)
{
	if
	:: OWNER(m[i].promised) != OWNER(to) ->
		if
		:: m[OWNER(m[i].promised)].present & BIT(i) ->
			m[i].lost = m[i].lost | BIT(OWNER(m[i].promised))
		:: else
		fi;
		m[i].lost = m[i].lost & (7 - BIT(OWNER(to)));
		m[i].grant = 0
	:: else
	fi;
	m[i].promised = to
}

/* ---- claims ---- */

/* Write w, once acknowledged, is in a majority's logs, and in that of whoever
 * was or is elected by a higher ballot. */
#define HAS(i, w) ((m[i].log >> (w)) & 1)
#define KEPT_BY(i, w) \
	(!m[i].elected || m[i].ballot < owner[w] || ((m[i].last >> (w)) & 1))

inline check_write(w)
{
	assert(!((acknowledged >> (w)) & 1) ||
	       (HAS(0, w) + HAS(1, w) + HAS(2, w) >= 2 && KEPT_BY(0, w) &&
	        KEPT_BY(1, w) && KEPT_BY(2, w)))
}

inline check_writes()
{
	check_write(0);
#if WRITES > 1
	check_write(1)
#endif
}

inline check_leaders()
{
	assert(!(m[0].elected && m[1].elected && m[0].ballot == m[1].ballot) &&
	       !(m[0].elected && m[2].elected && m[0].ballot == m[2].ballot) &&
	       !(m[1].elected && m[2].elected && m[1].ballot == m[2].ballot))
}

/* ---- elections ---- */

#define NEW_BALLOT(i, round) BALLOT(round, i, m[i].incarnation)

inline campaign(i, round)
{
	d_step {
		campaigns < CAMPAIGNS && m[i].role != leader &&
		NEW_BALLOT(i, round) > m[i].promised &&
		m[i].pause == 0 && MAY_CAMPAIGN(i) ->
		campaigns++;
		printf("%d campaigns by ballot %d\n", i, NEW_BALLOT(i, round));
		m[i].ballot = NEW_BALLOT(i, round);
		go_to(i, m[i].ballot);
		m[i].role = candidate;
		m[i].elected = 0;
		m[i].request_ballot = m[i].log_ballot;
		m[i].first = m[i].log;
		m[i].last = m[i].log;
		m[i].votes = BIT(i);
		m[i].acks = 0;
		m[i].present = 0
	}
}

inline vote(i, c)
{
	d_step {
		m[c].ballot > m[i].promised && UP_TO_DATE(c, i) &&
		m[i].pause == 0 && !BOUND(i, c) ->
		printf("%d votes for %d\n", i, c);
		step_down(i);
		go_to(i, m[c].ballot);
		if
		:: m[c].role != follower ->
			m[c].votes = m[c].votes | BIT(i);
			m[c].present = m[c].present | BIT(i)
		:: else
		fi
	}
}

/* Member i hears of c's higher ballot, and may not vote for it. */
inline hear(i, c)
{
#ifdef HEARSAY
	d_step {
		m[c].ballot > m[i].promised && BOUND(i, c) ->
		printf("%d hears of %d's ballot\n", i, c);
		m[i].grant = 0
	}
#else
	false
#endif
}

inline lead(i)
{
	d_step {
		m[i].role == candidate && MAJORITY(m[i].votes) ->
		printf("%d leads\n", i);
		m[i].role = leader;
		m[i].elected = 1;
		m[i].log_ballot = m[i].ballot;
		m[i].acks = BIT(i);
		check_leaders();
		check_writes()
	}
}

/* ---- the log ---- */

/* Member i takes the entries of l's ballot: all of them, or those that l began
 * with and its empty one. */
inline take_entries(i, l, content)
{
	d_step {
		m[l].elected && m[l].ballot >= m[i].promised &&
		(m[i].log_ballot != m[l].ballot || m[i].log < content ||
		 (m[l].role == leader && !(m[l].present & BIT(i)))) ->
		printf("%d takes entries of %d, writes %d\n", i, l, content);
		step_down(i);
		go_to(i, m[l].ballot);
#ifdef ANY_OWNER
		m[i].heard = l;
#endif
		if
		:: m[i].log_ballot != m[l].ballot || m[i].log < content ->
			m[i].log = content
		:: else
		fi;
		m[i].log_ballot = m[l].ballot;
		if
		:: m[l].role == leader ->
			m[l].acks = m[l].acks | BIT(i);
			m[l].present = m[l].present | BIT(i)
		:: else
		fi;
		acknowledge(i, 0);
#if WRITES > 1
		acknowledge(i, 1);
#endif
		check_writes()
	}
}

inline acknowledge(i, w)
{
	if
	:: w < writes && HAS(i, w) && owner[w] == m[i].log_ballot ->
		copies[w] = copies[w] | BIT(i)
	:: else
	fi
}

/* What an older leader began is done now: a client that asks is told so, and
 * readers see it. */
inline tell(i, w)
{
	if
	:: ((m[i].first & ~acknowledged) >> (w)) & 1 ->
		acknowledged = acknowledged | BIT(w);
		owner[w] = m[i].ballot
	:: else
	fi
}

inline serve(i)
{
	d_step {
		m[i].role == leader && !m[i].serves && MAJORITY(m[i].acks) ->
		printf("%d serves\n", i);
		m[i].serves = 1;
		m[i].applied = m[i].first;
		tell(i, 0);
#if WRITES > 1
		tell(i, 1);
#endif
		check_writes()
	}
}

/* The log as it was before the election, without the new ballot's own entry,
 * which followers may get apart: a majority of copies says nothing yet. */
inline take_old(i, l)
{
#ifdef OLD_ENTRIES
	d_step {
		m[l].role == leader && m[l].ballot >= m[i].promised &&
		m[i].log_ballot <= m[l].request_ballot &&
		m[i].log < m[l].first ->
		printf("%d takes old entries of %d\n", i, l);
		step_down(i);
		go_to(i, m[l].ballot);
		m[i].log_ballot = m[l].request_ballot;
		m[i].log = m[l].first
	}
#else
	false
#endif
}

inline commit_old(i)
{
#ifdef OLD_ENTRIES
	d_step {
		m[i].role == leader && !m[i].serves && m[i].first != 0 &&
		HAS(0, 0) + HAS(1, 0) + HAS(2, 0) >= 2 ->
		printf("%d acknowledges an old write\n", i);
		tell(i, 0);
		check_writes()
	}
#else
	false
#endif
}

inline write(i)
{
	d_step {
		SERVES(i) && writes < WRITES ->
		printf("%d appends write %d\n", i, writes);
		m[i].log = m[i].log | BIT(writes);
		m[i].last = m[i].log;
		owner[writes] = m[i].ballot;
		copies[writes] = BIT(i);
		writes++
	}
}

inline commit(i, w)
{
	d_step {
		m[i].role == leader && w < writes && owner[w] == m[i].ballot &&
		MAJORITY(copies[w]) && !((acknowledged >> w) & 1) ->
		printf("%d acknowledges write %d\n", i, w);
		m[i].applied = m[i].applied | (m[i].log & (BIT(w + 1) - 1));
		acknowledged = acknowledged | BIT(w);
		check_writes()
	}
}

/* ---- leases ---- */

inline send_beat(i, j)
{
	d_step {
		m[i].role == leader && MAY_COUNT(i, j) ->
		printf("%d sends a heartbeat to %d\n", i, j);
		m[i].beat[j] = sent;
		m[i].left[j] = COUNTED
	}
}

inline answer_beat(j, i)
{
	d_step {
		m[i].beat[j] == sent ->
		printf("%d answers %d's heartbeat\n", j, i);
#ifdef ANY_CONFIRMATION /* of an earlier loss, late */
		m[j].lost = m[j].lost & (7 - BIT(i));
#endif
		if
		:: HOLDER(j) == i -> m[j].grant = GRANTED
		:: else
		fi;
		if
		:: m[j].lost & BIT(i) -> m[i].beat[j] = listed
		:: else -> m[i].beat[j] = answered
		fi;
#ifdef TOLD_ONCE
		m[j].lost = m[j].lost & (7 - BIT(i))
#endif
	}
}

inline count_beat(i, j)
{
	d_step {
		m[i].beat[j] == answered || m[i].beat[j] == listed ->
#ifdef DEAF
		m[i].beat[j] = answered;
#endif
		if
		:: m[i].beat[j] == listed ->
			printf("%d is told by %d, steps down\n", i, j);
			step_down(i)
		:: else ->
			printf("%d counts %d's answer\n", i, j);
			if
			:: m[i].left[j] > m[i].lease && STILL_COUNTS(i, j) ->
				m[i].lease = m[i].left[j]
			:: else
			fi;
			m[i].beat[j] = none;
			m[i].left[j] = 0
		fi
	}
}

/* ---- reads: one that misses nothing when it is taken never will ---- */

inline read(i)
{
	d_step {
		SERVES(i) && (acknowledged & ~m[i].applied) ->
		printf("%d reads, and misses a write\n", i);
		assert(!MAY_ANSWER(i));
#ifdef OTHER_BALLOT
		m[i].stale = 1
#endif
	}
}

inline answer(i)
{
#ifdef OTHER_BALLOT
	d_step { m[i].stale && MAY_ANSWER(i) -> assert(false) }
#else
	false
#endif
}

/* ---- restarts ---- */

/* A heartbeat that the new process answers counts for nothing. */
inline forget(l, i)
{
#ifdef ANY_INCARNATION
	skip
#else
	m[l].present = m[l].present & (7 - BIT(i));
	if
	:: m[l].beat[i] == sent -> m[l].beat[i] = none; m[l].left[i] = 0
	:: else
	fi
#endif
}

inline restart(i)
{
	d_step {
		restarts < RESTARTS ->
		restarts++;
		printf("%d restarts\n", i);
		m[i].incarnation++;
		step_down(i);
		m[i].stale = 0;
		m[i].grant = 0;
		m[i].lost = 0;
#ifndef NO_PAUSE
		m[i].pause = GRANTED;
#endif
#ifdef UNFLUSHED
		m[i].log_ballot = 0;
		m[i].log = 0;
#endif
#ifdef FORGOTTEN_VOTE
		m[i].promised = m[i].log_ballot;
#endif
		forget(0, i);
		forget(1, i);
		forget(2, i)
	}
}

/* ---- who acts ---- */

#define NEXT ((me + 1) % MEMBERS)
#define OTHER ((me + 2) % MEMBERS)

proctype acts(byte me)
{
	do
	:: campaign(me, 0)
	:: campaign(me, 1)
#if ROUNDS > 2
	:: campaign(me, 2)
#endif
	:: vote(me, NEXT)
	:: vote(me, OTHER)
	:: hear(me, NEXT)
	:: hear(me, OTHER)
	:: lead(me)
	:: take_entries(me, NEXT, m[NEXT].first)
	:: take_entries(me, OTHER, m[OTHER].first)
	:: take_entries(me, NEXT, m[NEXT].last)
	:: take_entries(me, OTHER, m[OTHER].last)
	:: take_old(me, NEXT)
	:: take_old(me, OTHER)
	:: commit_old(me)
	:: serve(me)
	:: write(me)
	:: commit(me, 0)
#if WRITES > 1
	:: commit(me, 1)
#endif
	:: send_beat(me, NEXT)
	:: send_beat(me, OTHER)
	:: answer_beat(me, NEXT)
	:: answer_beat(me, OTHER)
	:: count_beat(me, NEXT)
	:: count_beat(me, OTHER)
	:: read(me)
	:: answer(me)
	:: restart(me)
	od
}

#define DOWN(timer) timer = (timer > 0 -> timer - 1 : 0)

inline age(i, j)
{
#ifdef FROM_ANSWER
	skip
#else
	if
	:: m[i].left[j] == 1 -> m[i].beat[j] = none; m[i].left[j] = 0
	:: m[i].left[j] > 1 -> m[i].left[j] = m[i].left[j] - 1
	:: else
	fi
#endif
}

inline pass(i)
{
	DOWN(m[i].grant);
	DOWN(m[i].pause);
#ifndef STOPPED_CLOCK
	DOWN(m[i].lease);
#endif
	age(i, 0);
	age(i, 1);
	age(i, 2)
}

proctype time()
{
	do
	:: d_step { true -> printf("tick\n"); pass(0); pass(1); pass(2) }
	od
}

/* Member 0 leads by the lowest ballot, and all have acknowledged it. */
init
{
	d_step {
		m[0].role = leader;
		m[0].elected = 1;
		m[0].serves = 1;
		m[0].votes = 7;
		m[0].acks = 7;
		m[0].present = 6
	};
	atomic { run acts(0); run acts(1); run acts(2); run time() }
}
