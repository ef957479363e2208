#include "regress/sim/net_sim.h"

#include "regress/sim/sim_int.h"

/* A connection is a link with two ends and two directions.  The link belongs to
 * the simulation; each end is a net_conn in the arena of its process, and
 * leaves the link when that arena is freed.
 *
 *   CONNECTING ---> OPEN ---> BROKEN
 *        |                      ^
 *        +----------------------+
 *
 * A broken link carries what was already under way, up to a random point, and
 * then the end of the connection to each side, at different times. */

#define CONN_MAGIC       0x53434f4eu
#define LIST_MAGIC       0x534c4953u
#define LINK_MAGIC       0x534c4e4bu
#define CONNECT_LIMIT_US 5000000u
#define SYN_RETRY_US     700000u
/* What the kernel takes before a sender notices. */
#define KERNEL_BUFFER (256u << 10)
/* An end that sends into the void gives up after so long. */
#define GIVE_UP_MIN_US 5000000u
#define GIVE_UP_MAX_US 60000000u
#define HOUR_US        3600000000u
/* How often a frame asks again whether it may arrive. */
#define GATE_US 500u

enum conn_state { CONN_CONNECTING, CONN_OPEN, CONN_DEAD };
enum link_state { LINK_CONNECTING, LINK_OPEN, LINK_BROKEN };

struct link;

struct net_conn {
	uint32_t magic;
	enum conn_state state;
	struct arena *arena;
	struct world *world;
	struct link *link; /* NULL once dead */
	unsigned side;     /* 0 connected, 1 accepted */
	const struct net_events *ev;
	void *owner;
	const char *peer;
	bool paused;
	bool over; /* the backlog was above the high mark */
};

struct net_listener {
	uint32_t magic;
	struct arena *arena;
	struct sim_host *host;
	const char *addr;
	void (*accept_ev)(void *owner, struct net_conn *c);
	void *owner;
	struct list link;
};

struct frame {
	struct list link;
	struct arena *arena;
	uint64_t sent;
	uint64_t ready;
	struct str data;
	const char *end; /* not data: the connection ends, for this reason */
	bool reset;      /* break the link once this has arrived */
};

struct dir {
	struct link *link;
	unsigned from;
	struct list frames;
	uint64_t last_ready;
	uint64_t stall_until;
	size_t bytes;
	bool scheduled;
};

struct link {
	uint32_t magic;
	enum link_state state;
	struct arena *arena;
	struct sim *sim;
	struct list all;
	uint64_t id;
	const char *addr;
	struct sim_host *host[2]; /* [1] NULL: no such host */
	struct net_conn *end[2];
	struct dir dir[2]; /* by the side it comes from */
	uint64_t started;
	unsigned pending; /* events that point here */
	bool accepted;
	bool watched;
};

/* ---- small things ---- */

static uint64_t
latency(struct sim *s)
{
	const struct sim_net_conf *c = &s->net;
	uint64_t mean = c->latency_us > c->latency_min_us
			    ? c->latency_us - c->latency_min_us
			    : 1;
	uint64_t us = c->latency_min_us + rng_exp(&s->net_rng, mean) + 1;

	return rng_ppm(&s->net_rng, c->slow_ppm) ? us * 100 : us;
}

static bool
blocked(const struct sim *s, const struct sim_host *a, const struct sim_host *b)
{
	return s->blocked[a->index][b->index] != 0 || !a->powered ||
	       !b->powered;
}

static bool
paused(const struct sim_host *h)
{
	return h->up && h->paused_until > h->sim->now;
}

static void
later(struct link *l, uint64_t when, void (*fn)(void *arg), void *arg)
{
	l->pending++;
	sim_at(l->sim, when, fn, arg);
}

static void
trace(const struct link *l, unsigned to, const char *what, const char *more)
{
	if (!sim_tracing(l->sim))
		return;
	sim_trace(l->sim, l->host[to] ? l->host[to]->opts.name : "-",
	    "net #%llu %s %s %s %s", (unsigned long long)l->id,
	    to ? "<-" : "->", l->host[!to] ? l->host[!to]->opts.name : l->addr,
	    what, more);
}

static void
drop_frame(struct dir *d, struct frame *f)
{
	list_del(&f->link);
	d->bytes -= f->data.len;
	arena_free(f->arena);
}

static void
drop_frames(struct dir *d)
{
	LIST_FOREACH_SAFE(at, &d->frames)
	drop_frame(d, LIST_ENTRY(at, struct frame, link));
}

static void
free_if_over(struct link *l)
{
	if (l->pending || l->end[0] || l->end[1])
		return;
	list_del(&l->all);
	l->magic = 0;
	arena_free(l->arena);
}

/* At the end of an event: until here it kept the link in place. */
static void
unpend(struct link *l)
{
	ASSERT(l->magic == LINK_MAGIC && l->pending > 0);
	l->pending--;
	free_if_over(l);
}

/* ---- an end's life ---- */

static void
release(void *arg)
{
	struct net_conn *c = arg;
	struct link *l = c->link;

	if (!l)
		return;
	ASSERT(l->magic == LINK_MAGIC);
	l->end[c->side] = NULL;
	drop_frames(&l->dir[!c->side]);
	free_if_over(l);
}

static void
reap(void *arg)
{
	arena_free(TAKE(struct net_conn, arg, CONN_MAGIC)->arena);
}

/* The end leaves its link; its memory goes on the process' next turn. */
static void
die(struct net_conn *c)
{
	struct link *l = c->link;

	ASSERT(c->state != CONN_DEAD);
	c->state = CONN_DEAD;
	c->link = NULL;
	l->end[c->side] = NULL;
	drop_frames(&l->dir[!c->side]);
	world_post(c->world, reap, c);
}

/* The end is told, and gone. */
static void
tell_closed(struct link *l, unsigned side, const char *why)
{
	struct net_conn *c = l->end[side];
	struct sim_host *h = l->host[side];

	if (!c)
		return;
	trace(l, side, "closed:", why);
	sim_fold(l->sim, h, STR("closed"));
	die(c);
	if (!c->ev)
		return;
	sim_enter(h);
	c->ev->closed(c->owner, why);
	sim_leave(h);
}

static struct net_conn *
conn_new(struct link *l, unsigned side, enum conn_state state)
{
	struct world *w = &l->host[side]->world;
	struct arena *a = arena_new(w->arena, "connection");
	struct net_conn *c = NEW(a, struct net_conn);

	c->magic = CONN_MAGIC;
	c->state = state;
	c->arena = a;
	c->world = w;
	c->link = l;
	c->side = side;
	l->end[side] = c;
	arena_cleanup(a, release, c);
	return c;
}

/* ---- frames under way ---- */

static void dir_ev(void *arg);

static void
schedule(struct dir *d, uint64_t when)
{
	struct link *l = d->link;
	struct frame *f;

	if (d->scheduled || list_empty(&d->frames))
		return;
	/* What a connecting end sends waits there; what an accepting end sends
	 * must not overtake its acceptance. */
	if (l->state == LINK_CONNECTING)
		return;
	f = LIST_ENTRY(d->frames.next, struct frame, link);
	if (when < f->ready)
		when = f->ready;
	if (when < d->stall_until)
		when = d->stall_until;
	d->scheduled = true;
	later(l, when, dir_ev, d);
}

static struct frame *
put(struct dir *d, struct str data, const char *end)
{
	struct sim *s = d->link->sim;
	struct arena *a = arena_new(d->link->arena, "frame");
	struct frame *f = NEW(a, struct frame);

	f->arena = a;
	f->sent = s->now;
	f->ready = s->now + latency(s);
	if (f->ready < d->last_ready)
		f->ready = d->last_ready;
	d->last_ready = f->ready;
	f->data = arena_str(a, data);
	f->end = end;
	d->bytes += data.len;
	list_push(&d->frames, &f->link);
	return f;
}

/* Of what is under way a random part is lost, from some point on. */
static void
cut_tail(struct dir *d)
{
	struct sim *s = d->link->sim;
	uint64_t n = 0, keep;

	LIST_FOREACH(at, &d->frames)
	n++;
	keep = rng_below(&s->net_rng, n + 1);
	LIST_FOREACH_SAFE(at, &d->frames)
	{
		if (keep == 0)
			drop_frame(d, LIST_ENTRY(at, struct frame, link));
		else
			keep--;
	}
}

/* The side that `d` leads to hears of the end after up to `more` us. */
static void
send_end(struct dir *d, const char *why, uint64_t more)
{
	struct frame *f;

	if (!d->link->end[!d->from] && d->link->accepted)
		return;
	f = put(d, STR_NONE, why);
	if (more)
		f->ready += rng_below(&d->link->sim->net_rng, more);
	d->last_ready = f->ready;
	schedule(d, d->link->sim->now);
}

static void
break_link(struct link *l, const char *why, uint64_t more)
{
	if (l->state == LINK_BROKEN)
		return;
	if (l->state == LINK_CONNECTING)
		drop_frames(&l->dir[0]);
	l->state = LINK_BROKEN;
	l->sim->counts.broken++;
	for (int i = 0; i < 2; i++) {
		cut_tail(&l->dir[i]);
		send_end(&l->dir[i], why, more);
	}
}

/* Who sends while nothing passes learns in the end that it was in vain. */
static void
watch_ev(void *arg)
{
	struct link *l = arg;
	struct sim *s = l->sim;

	l->watched = false;
	if (l->state == LINK_OPEN && (blocked(s, l->host[0], l->host[1]) ||
					 blocked(s, l->host[1], l->host[0]))) {
		s->counts.timed_out++;
		break_link(l, "timed out", GIVE_UP_MAX_US);
	}
	unpend(l);
}

static void
watch(struct link *l)
{
	struct sim *s = l->sim;

	if (l->watched || (!blocked(s, l->host[0], l->host[1]) &&
			      !blocked(s, l->host[1], l->host[0])))
		return;
	l->watched = true;
	later(l,
	    s->now + rng_between(&s->net_rng, GIVE_UP_MIN_US, GIVE_UP_MAX_US),
	    watch_ev, l);
}

static void
drained_ev(void *arg)
{
	struct dir *d = arg;
	struct link *l = d->link;
	struct net_conn *c = l->end[d->from];
	struct sim_host *h = l->host[d->from];

	if (c && paused(h)) {
		sim_at(l->sim, h->paused_until, drained_ev, d);
		return;
	}
	if (c && c->over && sim_net_backlog(c) < NET_BACKLOG_HIGH / 2) {
		c->over = false;
		if (c->ev && c->ev->drained) {
			sim_enter(h);
			c->ev->drained(c->owner);
			sim_leave(h);
		}
	}
	unpend(l);
}

static void
deliver(struct dir *d, struct frame *f)
{
	struct link *l = d->link;
	struct sim *s = l->sim;
	struct net_conn *c = l->end[!d->from], *sender = l->end[d->from];
	struct sim_host *h = l->host[!d->from];
	bool reset = f->reset;

	list_del(&f->link);
	d->bytes -= f->data.len;
	if (f->end) {
		tell_closed(l, !d->from, f->end);
	} else {
		s->counts.frames++;
		s->counts.hour_late += s->now - f->sent >= HOUR_US;
		sim_fold(s, h, f->data);
		if (sim_tracing(s))
			trace(l, !d->from, "frame",
			    sim_describe(s, f->arena, f->data));
		sim_enter(h);
		c->ev->frame(c->owner, f->data);
		sim_leave(h);
	}
	arena_free(f->arena);
	if (reset && l->state == LINK_OPEN) {
		s->counts.resets++;
		break_link(l, "connection reset by peer", 100000);
	}
	if (sender && l->end[d->from] == sender && sender->over)
		later(l, s->now + 1, drained_ev, d);
}

static void
dir_ev(void *arg)
{
	struct dir *d = arg;
	struct link *l = d->link;
	struct sim *s = l->sim;
	struct sim_host *from = l->host[d->from], *to = l->host[!d->from];
	struct net_conn *c = l->end[!d->from];

	d->scheduled = false;
	if (!c) {
		drop_frames(d);
	} else if (!list_empty(&d->frames)) {
		struct frame *f =
		    LIST_ENTRY(d->frames.next, struct frame, link);

		if (paused(to))
			schedule(d, to->paused_until);
		else if (d->stall_until > s->now || f->ready > s->now)
			schedule(d, s->now);
		else if (!f->end && s->blocked[from->index][to->index] &&
			 l->state == LINK_BROKEN)
			drop_frame(d, f);
		else if (!f->end && s->blocked[from->index][to->index])
			/* As TCP does it: again and again. */
			schedule(d,
			    s->now + rng_between(&s->net_rng, 200000, 1500000));
		else if (!f->end && s->gate &&
			 !s->gate(s->gate_arg, from, to, f->data))
			schedule(d, s->now + GATE_US);
		else if (f->end || (!c->paused && c->ev))
			deliver(d, f);
		if (l->end[!d->from] && !l->end[!d->from]->paused)
			schedule(d, s->now);
	}
	unpend(l);
}

/* ---- operations on an open end ---- */

static bool
silenced(const struct net_conn *c)
{
	return sim_host_of(c->world)->doom != DOOM_NONE;
}

void
sim_net_send(struct net_conn *c, struct str frame)
{
	struct link *l = c->link;
	struct dir *d;
	struct sim *s;
	struct frame *f;

	ASSERT(c->magic == CONN_MAGIC && c->state != CONN_DEAD);
	ASSERT(frame.len >= NET_FRAME_MIN && frame.len <= NET_FRAME_MAX);
	if (l->state == LINK_BROKEN || silenced(c))
		return;
	s = l->sim;
	d = &l->dir[c->side];
	f = put(d, frame, NULL);
	if (rng_ppm(&s->net_rng, s->net.stall_ppm)) {
		s->counts.stalls++;
		d->stall_until = s->now + rng_exp(&s->net_rng, s->net.stall_us);
	}
	if (l->state == LINK_OPEN && rng_ppm(&s->net_rng, s->net.lost_ppm)) {
		s->counts.lost++;
		drop_frame(d, f);
		break_link(l, "connection reset by peer", 2000000);
		return;
	}
	f->reset = rng_ppm(&s->net_rng, s->net.reset_ppm);
	if (sim_net_backlog(c) > NET_BACKLOG_HIGH)
		c->over = true;
	schedule(d, s->now);
	if (l->state == LINK_OPEN)
		watch(l);
	for (uint32_t i = 0; i < s->n_taps && l->host[1]; i++)
		s->taps[i].fn(
		    s->taps[i].arg, l->host[c->side], l->host[!c->side], frame);
}

size_t
sim_net_backlog(const struct net_conn *c)
{
	size_t bytes;

	ASSERT(c->magic == CONN_MAGIC);
	if (c->state == CONN_DEAD)
		return 0;
	bytes = c->link->dir[c->side].bytes;
	return bytes > KERNEL_BUFFER ? bytes - KERNEL_BUFFER : 0;
}

void
sim_net_pause(struct net_conn *c, bool pause)
{
	ASSERT(c->magic == CONN_MAGIC && c->state != CONN_DEAD);
	if (c->paused == pause)
		return;
	c->paused = pause;
	if (!pause)
		schedule(&c->link->dir[!c->side], c->link->sim->now + 1);
}

void
sim_net_close(struct net_conn *c)
{
	struct link *l = c->link;
	struct dir *d;

	ASSERT(c->magic == CONN_MAGIC && c->state != CONN_DEAD);
	d = &l->dir[c->side];
	/* Closing with unread answers under way is a reset, which may destroy
	 * what was sent just before. */
	if (l->state == LINK_OPEN || (l->state == LINK_CONNECTING && c->side)) {
		if (!list_empty(&l->dir[!c->side].frames) &&
		    rng_below(&l->sim->net_rng, 4) == 0)
			cut_tail(d);
		send_end(d, "closed by peer", 0);
	}
	if (l->state == LINK_CONNECTING && c->side == 0)
		drop_frames(d);
	die(c);
	free_if_over(l);
}

const char *
sim_net_peer(const struct net_conn *c)
{
	ASSERT(c->magic == CONN_MAGIC);
	return c->peer;
}

/* ---- connecting ---- */

static struct net_listener *
listener_at(struct sim_host *h, const char *addr)
{
	LIST_FOREACH(at, &h->sim->listeners)
	{
		struct net_listener *n =
		    LIST_ENTRY(at, struct net_listener, link);

		if (n->host == h && strcmp(n->addr, addr) == 0)
			return n;
	}
	return NULL;
}

static void
refuse(struct link *l, const char *why)
{
	l->state = LINK_BROKEN;
	if (l->end[0] && paused(l->host[0])) {
		/* It hears when it wakes. */
		put(&l->dir[1], STR_NONE, why);
		schedule(&l->dir[1], l->host[0]->paused_until);
		return;
	}
	tell_closed(l, 0, why);
	if (l->accepted)
		send_end(&l->dir[0], "closed by peer", GIVE_UP_MAX_US);
}

/* False when the connecting end has waited long enough. */
static bool
may_retry(struct link *l, void (*again)(void *arg))
{
	struct sim *s = l->sim;

	if (s->now + SYN_RETRY_US > l->started + CONNECT_LIMIT_US)
		return false;
	later(l, s->now + SYN_RETRY_US, again, l);
	return true;
}

/* The answer arrives: the connecting end is open. */
static void
opened_ev(void *arg)
{
	struct link *l = arg;
	struct sim *s = l->sim;
	struct net_conn *c = l->end[0];

	if (c && l->state == LINK_CONNECTING && paused(l->host[0])) {
		sim_at(s, l->host[0]->paused_until, opened_ev, l);
		return;
	}
	if (!c || l->state != LINK_CONNECTING) {
		/* It closed meanwhile. */
		if (l->state == LINK_CONNECTING) {
			l->state = LINK_BROKEN;
			send_end(&l->dir[0], "closed by peer", 0);
		}
	} else if (blocked(s, l->host[1], l->host[0])) {
		if (!may_retry(l, opened_ev)) {
			s->counts.timed_out++;
			refuse(l, "connect timed out");
		}
	} else {
		l->state = LINK_OPEN;
		c->state = CONN_OPEN;
		trace(l, 0, "opened", "");
		sim_fold(s, l->host[0], STR("opened"));
		sim_enter(l->host[0]);
		c->ev->opened(c->owner);
		sim_leave(l->host[0]);
		for (int i = 0; i < 2; i++)
			schedule(&l->dir[i], s->now);
		if (l->state == LINK_OPEN)
			watch(l);
	}
	unpend(l);
}

static void
accept_conn(struct link *l, struct net_listener *n)
{
	struct sim *s = l->sim;
	struct net_conn *c = conn_new(l, 1, CONN_OPEN);

	c->peer = arena_printf(c->arena, "%s:%llu", l->host[0]->opts.name,
	    (unsigned long long)(10000 + l->id % 50000));
	l->accepted = true;
	trace(l, 1, "accepted", "");
	sim_fold(s, l->host[1], STR("accepted"));
	sim_enter(l->host[1]);
	n->accept_ev(n->owner, c);
	if (c->state == CONN_OPEN && !c->ev)
		sim_net_close(c); /* nobody wanted it */
	sim_leave(l->host[1]);
}

/* The wish to connect arrives. */
static void
syn_ev(void *arg)
{
	struct link *l = arg;
	struct sim *s = l->sim;
	struct sim_host *to = l->host[1];
	struct net_listener *n;

	if (l->state == LINK_CONNECTING && to && paused(to)) {
		sim_at(s, to->paused_until, syn_ev, l);
		return;
	}
	if (l->state != LINK_CONNECTING) {
		unpend(l);
		return;
	}
	if (to && (blocked(s, l->host[0], to) ||
		      rng_ppm(&s->net_rng, s->net.connect_lost_ppm))) {
		if (!may_retry(l, syn_ev)) {
			s->counts.timed_out++;
			refuse(l, "connect timed out");
		}
	} else if (!to || !to->up || !(n = listener_at(to, l->addr))) {
		s->counts.refused++;
		refuse(l, to ? "connection refused" : "no such host");
	} else {
		accept_conn(l, n);
		if (rng_ppm(&s->net_rng, s->net.half_open_ppm)) {
			s->counts.half_open++;
			refuse(l, "connect timed out");
		} else {
			later(l, s->now + latency(s), opened_ev, l);
		}
	}
	unpend(l);
}

static struct sim_host *
host_named(struct sim *s, const char *addr)
{
	size_t n = strcspn(addr, ":");

	for (uint32_t i = 0; i < s->n_hosts; i++)
		if (strlen(s->hosts[i]->opts.name) == n &&
		    memcmp(s->hosts[i]->opts.name, addr, n) == 0)
			return s->hosts[i];
	return NULL;
}

struct err *
sim_net_connect(struct world *w, struct arena *a, const char *addr,
    const struct net_events *ev, void *owner, struct net_conn **out)
{
	struct sim_host *h = sim_host_of(w);
	struct sim *s = h->sim;
	struct arena *own = arena_new(s->arena, "link");
	struct link *l = NEW(own, struct link);
	struct net_conn *c;

	(void)a; /* what goes wrong is told later */
	l->magic = LINK_MAGIC;
	l->arena = own;
	l->sim = s;
	l->id = ++s->next_link;
	l->addr = arena_strdup(own, addr);
	l->host[0] = h;
	l->host[1] = host_named(s, addr);
	l->started = s->now;
	for (unsigned i = 0; i < 2; i++) {
		l->dir[i].link = l;
		l->dir[i].from = i;
		list_init(&l->dir[i].frames);
	}
	list_push(&s->links, &l->all);
	s->counts.connects++;
	c = conn_new(l, 0, CONN_CONNECTING);
	c->peer = arena_strdup(c->arena, addr);
	c->ev = ev;
	c->owner = owner;
	later(l, s->now + latency(s), syn_ev, l);
	*out = c;
	return NULL;
}

/* ---- listening ---- */

static void
release_listener(void *arg)
{
	struct net_listener *n = arg;

	list_del(&n->link);
	n->magic = 0;
}

struct err *
sim_net_listen(struct world *w, struct arena *a, const char *addr,
    void (*accept_ev)(void *owner, struct net_conn *c), void *owner,
    struct net_listener **out)
{
	struct sim_host *h = sim_host_of(w);
	struct arena *own;
	struct net_listener *n;

	if (host_named(h->sim, addr) != h || listener_at(h, addr))
		return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
		    "could not listen on \"%s\"", addr);
	own = arena_new(w->arena, "net listener");
	n = NEW(own, struct net_listener);
	n->magic = LIST_MAGIC;
	n->arena = own;
	n->host = h;
	n->addr = arena_strdup(own, addr);
	n->accept_ev = accept_ev;
	n->owner = owner;
	list_push(&h->sim->listeners, &n->link);
	arena_cleanup(own, release_listener, n);
	*out = n;
	return NULL;
}

static void
reap_listener(void *arg)
{
	arena_free(arg);
}

void
sim_net_unlisten(struct net_listener *n)
{
	ASSERT(n->magic == LIST_MAGIC);
	list_del(&n->link);
	n->magic = 0;
	world_post(&n->host->world, reap_listener, n->arena);
}

void
sim_net_adopt(struct net_conn *c, const struct net_events *ev, void *owner)
{
	ASSERT(c->magic == CONN_MAGIC && c->state == CONN_OPEN && !c->ev);
	c->ev = ev;
	c->owner = owner;
}

/* ---- hosts that go and come ---- */

void
sim_net_killed(struct sim_host *h)
{
	LIST_FOREACH_SAFE(at, &h->sim->links)
	{
		struct link *l = LIST_ENTRY(at, struct link, all);

		for (unsigned i = 0; i < 2; i++)
			if (l->end[i] && l->host[i] == h)
				break_link(
				    l, "connection reset by peer", 50000);
	}
}

/* Nobody says anything; what was under way arrives, or some of it. */
void
sim_net_powered_off(struct sim_host *h)
{
	LIST_FOREACH(at, &h->sim->links)
	{
		struct link *l = LIST_ENTRY(at, struct link, all);

		for (unsigned i = 0; i < 2; i++)
			if (l->end[i] && l->host[i] == h)
				cut_tail(&l->dir[i]);
		if (l->state == LINK_OPEN &&
		    (l->host[0] == h || l->host[1] == h))
			watch(l);
	}
}

/* The machine answers again, that it knows nothing of these connections. */
void
sim_net_powered_on(struct sim_host *h)
{
	LIST_FOREACH(at, &h->sim->links)
	{
		struct link *l = LIST_ENTRY(at, struct link, all);

		if (l->accepted && (l->host[0] == h || l->host[1] == h))
			break_link(l, "connection reset by peer", 1000000);
	}
}

/* ---- faults from outside ---- */

void
sim_net_conf(struct sim *s, const struct sim_net_conf *c)
{
	s->net = *c;
}

void
sim_net_conf_get(const struct sim *s, struct sim_net_conf *c)
{
	*c = s->net;
}

void
sim_net_block(struct sim_host *from, struct sim_host *to, bool on)
{
	struct sim *s = from->sim;
	uint64_t *since = &s->blocked[from->index][to->index];

	if (on == (*since != 0))
		return;
	sim_trace(s, "net", "%s -> %s %s", from->opts.name, to->opts.name,
	    on ? "blocked" : "passes");
	*since = on ? s->now : 0;
	if (!on)
		return;
	LIST_FOREACH(at, &s->links)
	{
		struct link *l = LIST_ENTRY(at, struct link, all);

		if (l->state == LINK_OPEN &&
		    (l->dir[0].bytes || l->dir[1].bytes))
			watch(l);
	}
}

static void
end_stall(struct dir *d)
{
	d->stall_until = 0;
	/* The event that waits for the end of the stall finds nothing. */
	d->scheduled = false;
	schedule(d, d->link->sim->now);
}

void
sim_net_heal(struct sim *s)
{
	for (uint32_t i = 0; i < s->n_hosts; i++)
		for (uint32_t j = 0; j < s->n_hosts; j++)
			if (s->blocked[i][j])
				sim_net_block(s->hosts[i], s->hosts[j], false);
	LIST_FOREACH(at, &s->links)
	{
		struct link *l = LIST_ENTRY(at, struct link, all);

		for (int i = 0; i < 2; i++)
			end_stall(&l->dir[i]);
	}
}

static struct link *
pick(struct sim *s, struct rng *r)
{
	uint64_t n = 0, at;

	LIST_FOREACH(i, &s->links)
	n += LIST_ENTRY(i, struct link, all)->state == LINK_OPEN;
	if (n == 0)
		return NULL;
	at = rng_below(r, n);
	LIST_FOREACH(i, &s->links)
	{
		struct link *l = LIST_ENTRY(i, struct link, all);

		if (l->state == LINK_OPEN && at-- == 0)
			return l;
	}
	return NULL;
}

void
sim_net_break_one(struct sim *s, struct rng *r)
{
	struct link *l = pick(s, r);

	if (!l)
		return;
	s->counts.resets++;
	trace(l, 1, "broken", "");
	break_link(l, "connection reset by peer", 3000000);
}

void
sim_net_stall_one(struct sim *s, struct rng *r, uint64_t stall_us)
{
	struct link *l = pick(s, r);
	unsigned side = (unsigned)rng_below(r, 3);

	if (!l)
		return;
	s->counts.stalls++;
	trace(l, 1, "stalls", "");
	for (unsigned i = 0; i < 2; i++)
		if (side != i)
			l->dir[i].stall_until = s->now + stall_us;
}

void
sim_net_stall_where(struct sim *s, uint64_t stall_us,
    bool (*which)(void *arg, struct sim_host *from, struct sim_host *to),
    void *arg)
{
	LIST_FOREACH(i, &s->links)
	{
		struct link *l = LIST_ENTRY(i, struct link, all);

		for (unsigned k = 0; k < 2 && l->state == LINK_OPEN; k++)
			if (which(arg, l->host[k], l->host[!k])) {
				s->counts.stalls++;
				trace(l, !k, "stalls", "");
				l->dir[k].stall_until = s->now + stall_us;
			}
	}
}

void
sim_net_tap(struct sim *s,
    void (*fn)(void *arg, struct sim_host *from, struct sim_host *to,
	struct str frame),
    void *arg)
{
	ASSERT(s->n_taps < SIM_TAPS_MAX);
	s->taps[s->n_taps].fn = fn;
	s->taps[s->n_taps++].arg = arg;
}

void
sim_net_gate(struct sim *s,
    bool (*fn)(void *arg, struct sim_host *from, struct sim_host *to,
	struct str frame),
    void *arg)
{
	s->gate = fn;
	s->gate_arg = arg;
}

void
sim_net_counts(const struct sim *s, struct sim_net_counts *c)
{
	*c = s->counts;
}
