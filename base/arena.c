#include "base/arena.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/sanitize.h"

/* An arena is a list of blocks from the system.  Normally a block is a chunk
 * that pieces are cut from (1 KiB doubling to 64 KiB) or the home of one large
 * piece; with ARENA_DEBUG every piece is a block of its own, so that ASan sees
 * overruns and stale pointers.  The arena itself lives in its first block. */

#define ARENA_MAGIC 0x41524e41u
#define ALIGN       16u
#define CHUNK_MIN   1024u
#define CHUNK_MAX   65536u
/* Pieces of this size and more get a block of their own, which arena_grow may
 * move with realloc: a growing buffer leaves no garbage behind. */
#define LARGE 16384u

struct block {
	struct block *next;
	struct block *prev;
	size_t size; /* with this header */
	size_t pad;
};
_Static_assert(sizeof(struct block) % ALIGN == 0, "pieces must be aligned");

struct cleanup {
	struct cleanup *next;
	void (*fn)(void *arg);
	void *arg;
};

struct arena {
	uint32_t magic;
	const char *name;
	struct arena *parent;
	struct arena *child;   /* newest */
	struct arena *sibling; /* older child of the same parent */
	struct arena *younger; /* newer child of the same parent */
	struct block *first;   /* holds this struct; never in `blocks` */
	struct block *blocks;  /* newest first */
	struct cleanup *cleanups;
	char *at; /* free part of the present chunk */
	char *end;
	size_t chunk; /* size of the next chunk */
	size_t bytes; /* with children */
	size_t limit;
};

_Noreturn static void
out_of_memory(size_t n)
{
	fprintf(stderr, "out of memory allocating %zu bytes\n", n);
	abort();
}

static size_t
round_up(size_t n)
{
	if (n > SIZE_MAX / 4)
		out_of_memory(n);
	return n ? (n + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
}

/* ---- blocks from the system, with a small cache per thread ---- */

#if !defined(ARENA_DEBUG) && !WITH_ASAN
#define CACHE_CLASSES 7 /* 1 KiB .. 64 KiB */
#define CACHE_MAX     (1u << 20)

struct cache {
	struct block *free[CACHE_CLASSES];
	size_t bytes;
	bool registered;
};

static _Thread_local struct cache cache;
static pthread_key_t cache_key;
static pthread_once_t cache_once = PTHREAD_ONCE_INIT;

static void
cache_drop(void *arg)
{
	struct cache *c = arg;

	for (int i = 0; i < CACHE_CLASSES; i++)
		while (c->free[i]) {
			struct block *b = c->free[i];

			c->free[i] = b->next;
			free(b);
		}
	c->bytes = 0;
	c->registered = false;
}

static void
cache_key_make(void)
{
	if (pthread_key_create(&cache_key, cache_drop) != 0)
		out_of_memory(0);
}

static int
cache_class(size_t size)
{
	if (size < CHUNK_MIN || size > CHUNK_MAX || (size & (size - 1)))
		return -1;
	return __builtin_ctzl(size) - __builtin_ctzl(CHUNK_MIN);
}

static struct block *
cache_get(size_t size)
{
	int k = cache_class(size);
	struct block *b = k < 0 ? NULL : cache.free[k];

	if (b) {
		cache.free[k] = b->next;
		cache.bytes -= size;
	}
	return b;
}

static bool
cache_put(struct block *b)
{
	int k = cache_class(b->size);

	if (k < 0 || cache.bytes + b->size > CACHE_MAX)
		return false;
	if (!cache.registered) {
		pthread_once(&cache_once, cache_key_make);
		pthread_setspecific(cache_key, &cache);
		cache.registered = true;
	}
	b->next = cache.free[k];
	cache.free[k] = b;
	cache.bytes += b->size;
	return true;
}
#else
/* A checker sees more when freed means freed. */
static struct block *
cache_get(size_t size)
{
	(void)size;
	return NULL;
}

static bool
cache_put(struct block *b)
{
	(void)b;
	return false;
}
#endif

static struct block *
block_new(size_t size)
{
	struct block *b = cache_get(size);

	if (!b)
		b = malloc(size);
	if (!b)
		out_of_memory(size);
	b->next = b->prev = NULL;
	b->size = size;
	return b;
}

static void
block_free(struct block *b)
{
	if (!cache_put(b))
		free(b);
}

static void
account(struct arena *a, size_t add, size_t sub)
{
	for (; a; a = a->parent)
		a->bytes = a->bytes + add - sub;
}

static void
link_block(struct arena *a, struct block *b)
{
	b->prev = NULL;
	b->next = a->blocks;
	if (b->next)
		b->next->prev = b;
	a->blocks = b;
}

static void *
own_block(struct arena *a, size_t n)
{
	struct block *b = block_new(sizeof *b + n);

	account(a, b->size, 0);
	link_block(a, b);
	return b + 1;
}

/* The piece `p` has a block of its own. */
static void *
regrow(struct arena *a, void *p, size_t n)
{
	struct block *old = (struct block *)p - 1;
	struct block *prev = old->prev, *next = old->next, *b;
	size_t before = old->size;

	b = realloc(old, sizeof *b + n);
	if (!b)
		out_of_memory(n);
	b->size = sizeof *b + n;
	account(a, b->size, before);
	if (prev)
		prev->next = b;
	else
		a->blocks = b;
	if (next)
		next->prev = b;
	return b + 1;
}

#ifdef ARENA_DEBUG
/* Any order must do: nothing in a cleanup or a free may depend on it. */
static struct block *
shuffle(struct block *list)
{
	static _Thread_local uint64_t x = 88172645463325252u;
	struct block *half[2] = {NULL, NULL}, *b;

	while ((b = list)) {
		list = b->next;
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		b->next = half[x & 1];
		half[x & 1] = b;
	}
	if (!half[0])
		return half[1];
	for (b = half[0]; b->next; b = b->next)
		continue;
	b->next = half[1];
	return half[0];
}
#else
static struct block *
shuffle(struct block *list)
{
	return list;
}
#endif

/* ---- the tree ---- */

static void
start(struct arena *a)
{
	a->blocks = NULL;
	a->cleanups = NULL;
	a->chunk = CHUNK_MIN * 2;
	a->at = (char *)a + round_up(sizeof *a);
	a->end = (char *)a->first + a->first->size;
}

struct arena *
arena_new(struct arena *parent, const char *name)
{
	struct block *b = block_new(CHUNK_MIN);
	struct arena *a = (struct arena *)(void *)(b + 1);

	memset(a, 0, sizeof *a);
	a->magic = ARENA_MAGIC;
	a->name = name;
	a->first = b;
	start(a);
	if (parent) {
		ASSERT(parent->magic == ARENA_MAGIC);
		a->parent = parent;
		a->sibling = parent->child;
		if (a->sibling)
			a->sibling->younger = a;
		parent->child = a;
	}
	account(a, b->size, 0);
	return a;
}

static void
empty(struct arena *a)
{
	struct block *b;
	size_t freed = 0;

	ASSERT(a->magic == ARENA_MAGIC);
	while (a->child)
		arena_free(a->child);
	/* A cleanup may still use the arena, and even add another. */
	while (a->cleanups) {
		struct cleanup *c = a->cleanups;

		a->cleanups = c->next;
		c->fn(c->arg);
	}
	ASSERT(!a->child);
	for (b = shuffle(a->blocks); b;) {
		struct block *next = b->next;

		freed += b->size;
		block_free(b);
		b = next;
	}
	account(a, 0, freed);
}

void
arena_free(struct arena *a)
{
	struct block *first;

	if (!a)
		return;
	empty(a);
	first = a->first;
	ASSERT(a->bytes == first->size);
	account(a->parent, 0, first->size);
	if (a->sibling)
		a->sibling->younger = a->younger;
	if (a->younger)
		a->younger->sibling = a->sibling;
	else if (a->parent)
		a->parent->child = a->sibling;
	a->magic = 0;
	block_free(first);
}

void
arena_reset(struct arena *a)
{
	empty(a);
	start(a);
}

size_t
arena_bytes(const struct arena *a)
{
	return a->bytes;
}

void
arena_limit(struct arena *a, size_t max)
{
	a->limit = max;
}

struct err *
arena_check(struct arena *a)
{
	for (const struct arena *up = a; up; up = up->parent)
		if (up->limit && up->bytes > up->limit)
			return err_detail(
			    ERR(a, ERRCODE_OUT_OF_MEMORY,
				"memory limit of %s exceeded", up->name),
			    "It holds %zu bytes, the limit is %zu bytes.",
			    up->bytes, up->limit);
	return NULL;
}

void
arena_cleanup(struct arena *a, void (*fn)(void *arg), void *arg)
{
	struct cleanup *c = arena_alloc_raw(a, sizeof *c);

	c->fn = fn;
	c->arg = arg;
	c->next = a->cleanups;
	a->cleanups = c;
}

/* ---- pieces ---- */

#ifdef ARENA_DEBUG
void *
arena_alloc_raw(struct arena *a, size_t n)
{
	ASSERT(a->magic == ARENA_MAGIC);
	(void)round_up(n);
	return own_block(a, n);
}

void *
arena_grow(struct arena *a, void *p, size_t old, size_t n)
{
	if (!p)
		return arena_alloc_raw(a, n);
	(void)round_up(n);
	return n <= old ? p : regrow(a, p, n);
}
#else
static void *
cut_slow(struct arena *a, size_t n)
{
	struct block *b;

	if (n >= LARGE)
		return own_block(a, n);
	while (a->chunk < sizeof *b + n)
		a->chunk *= 2;
	b = block_new(a->chunk);
	if (a->chunk < CHUNK_MAX)
		a->chunk *= 2;
	account(a, b->size, 0);
	link_block(a, b);
	a->at = (char *)(b + 1) + n;
	a->end = (char *)b + b->size;
	return b + 1;
}

void *
arena_alloc_raw(struct arena *a, size_t n)
{
	char *p = a->at;

	ASSERT(a->magic == ARENA_MAGIC);
	n = round_up(n);
	if (n > (size_t)(a->end - p) || n >= LARGE)
		return cut_slow(a, n);
	a->at = p + n;
	return p;
}

void *
arena_grow(struct arena *a, void *p, size_t old, size_t n)
{
	size_t was = round_up(old), want = round_up(n);
	void *q;

	if (!p)
		return arena_alloc_raw(a, n);
	if (want <= was)
		return p;
	if (was >= LARGE)
		return regrow(a, p, want);
	if ((char *)p + was == a->at && want < LARGE &&
	    want - was <= (size_t)(a->end - a->at)) {
		a->at += want - was;
		return p;
	}
	q = arena_alloc_raw(a, n);
	memcpy(q, p, old);
	return q;
}
#endif

void *
arena_alloc(struct arena *a, size_t n)
{
	return memset(arena_alloc_raw(a, n), 0, n);
}

void *
arena_calloc(struct arena *a, size_t n, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(n, size, &all))
		out_of_memory(SIZE_MAX);
	return arena_alloc(a, all);
}

void *
arena_dup(struct arena *a, const void *p, size_t n)
{
	void *q = arena_alloc_raw(a, n);

	if (n > 0)
		memcpy(q, p, n);
	return q;
}

char *
arena_strdup(struct arena *a, const char *s)
{
	return arena_dup(a, s, strlen(s) + 1);
}

char *
arena_cstr(struct arena *a, struct str s)
{
	char *p = arena_alloc_raw(a, s.len + 1);

	if (s.len > 0)
		memcpy(p, s.p, s.len);
	p[s.len] = 0;
	return p;
}

struct str
arena_str(struct arena *a, struct str s)
{
	return str_of(arena_dup(a, s.p, s.len), s.len);
}

char *
arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
	char small[256];
	va_list again;
	char *p;
	int n;

	va_copy(again, ap);
	n = vsnprintf(small, sizeof small, fmt, ap);
	ASSERT(n >= 0);
	p = arena_alloc_raw(a, (size_t)n + 1);
	if ((size_t)n < sizeof small)
		memcpy(p, small, (size_t)n + 1);
	else
		vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	return p;
}

char *
arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;

	va_start(ap, fmt);
	p = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return p;
}
