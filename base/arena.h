/* Arenas: memory that lives and dies together.
 *
 * Lifetimes are a tree: process > connection > transaction > statement >
 * message.  Allocation names its arena explicitly; nobody frees a piece; a
 * piece that must outlive its arena is copied up on purpose.  Freeing an arena
 * frees its children first and runs its cleanups in reverse order.
 *
 * Allocation never returns NULL: the process ends when the system is out of
 * memory.  What a client can make grow is bounded by limits instead, which the
 * loops that grow it test with arena_check() (one row, one node, one message
 * at a time), so that hitting a limit is an error of that client only.
 *
 * An arena belongs to one thread. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct arena;
struct err;

/* A new arena; `parent` may be NULL for a root.  `name` is a literal, shown in
 * errors and metrics. */
struct arena *arena_new(struct arena *parent, const char *name);
/* Frees the arena, its children and everything in them. NULL is fine. */
void arena_free(struct arena *a);
/* As arena_free, but the (now empty) arena stays, with its limit. */
void arena_reset(struct arena *a);

/* Bytes this arena and its children hold from the system. */
size_t arena_bytes(const struct arena *a);
/* Limit for this arena and its children together; 0 is none (default). */
void arena_limit(struct arena *a, size_t max);
/* NULL while the arena and all its ancestors are within their limits, else
 * 53200 naming the arena; the error lives in `a`. */
struct err *arena_check(struct arena *a);

/* `n` zeroed bytes, aligned for any type. */
void *arena_alloc(struct arena *a, size_t n);
/* The same, not zeroed. */
void *arena_alloc_raw(struct arena *a, size_t n);
/* Grows the piece `p` of `old` bytes to `n`; in place when it is the newest
 * piece.  p may be NULL with old 0.  New bytes are not zeroed; the old p is
 * dead. */
void *arena_grow(struct arena *a, void *p, size_t old, size_t n);

void *arena_dup(struct arena *a, const void *p, size_t n);
char *arena_strdup(struct arena *a, const char *s);
/* NUL-terminated copy of a view. */
char *arena_cstr(struct arena *a, struct str s);
struct str arena_str(struct arena *a, struct str s);
char *arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

/* Runs fn(arg) when the arena is reset or freed (fds, events, cursors). */
void arena_cleanup(struct arena *a, void (*fn)(void *arg), void *arg);

#define NEW(a, type)      ((type *)arena_alloc((a), sizeof(type)))
#define NEW_N(a, type, n) ((type *)arena_calloc((a), (n), sizeof(type)))
/* n * size zeroed bytes; overflow ends the process (callers bound n). */
void *arena_calloc(struct arena *a, size_t n, size_t size);

#endif
