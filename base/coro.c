/* The checked longjmp of _FORTIFY_SOURCE takes a jump to another stack for an
 * error; this file, and only this one, is built without it. */
#undef _FORTIFY_SOURCE

#include "base/coro.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/err.h"
#include "base/sanitize.h"

#if WITH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if WITH_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#ifndef VALGRIND_STACK_REGISTER
#define VALGRIND_STACK_REGISTER(low, high) 0u
#define VALGRIND_STACK_DEREGISTER(id)      ((void)(id))
#endif

/* ---- what the checkers want to know ---- */

#if WITH_ASAN
static void
tell_leaving(void **fake, const void *low, size_t size)
{
	__sanitizer_start_switch_fiber(fake, low, size);
}

static void
tell_arrived(void *fake, const void **from_low, size_t *from_size)
{
	__sanitizer_finish_switch_fiber(fake, from_low, from_size);
}

static void
tell_mapped(char *low, size_t size)
{
	__lsan_register_root_region(low, size);
}

/* Frames that were never left would poison whatever is mapped here next. */
static void
tell_unmapped(char *low, size_t size)
{
	__lsan_unregister_root_region(low, size);
	__asan_unpoison_memory_region(low, size);
}
#else
static inline void
tell_leaving(void **fake, const void *low, size_t size)
{
	(void)fake, (void)low, (void)size;
}

static inline void
tell_arrived(void *fake, const void **from_low, size_t *from_size)
{
	(void)fake, (void)from_low, (void)from_size;
}

static inline void
tell_mapped(char *low, size_t size)
{
	(void)low, (void)size;
}

static inline void
tell_unmapped(char *low, size_t size)
{
	(void)low, (void)size;
}
#endif

/* ThreadSanitizer keeps a call stack, and what setjmp saved, by fiber: it is
 * told between setjmp and the jump. */
#if WITH_TSAN
static void
tell_made(struct coro *c)
{
	c->tsan = __tsan_create_fiber(0);
}

static void
tell_ended(struct coro *c)
{
	__tsan_destroy_fiber(c->tsan);
}

static void
tell_entering(struct coro *c)
{
	c->from_tsan = __tsan_get_current_fiber();
	__tsan_switch_to_fiber(c->tsan, 0);
}

static void
tell_going_back(struct coro *c)
{
	__tsan_switch_to_fiber(c->from_tsan, 0);
}
#else
static inline void
tell_made(struct coro *c)
{
	(void)c;
}

static inline void
tell_ended(struct coro *c)
{
	(void)c;
}

static inline void
tell_entering(struct coro *c)
{
	(void)c;
}

static inline void
tell_going_back(struct coro *c)
{
	(void)c;
}
#endif

/* ---- stacks ---- */

static size_t
page_size(void)
{
	static size_t size;

	if (size == 0)
		size = (size_t)sysconf(_SC_PAGESIZE);
	return size;
}

char *
coro_stack_map(size_t size)
{
	size_t page = page_size();
	char *p;

	ASSERT(size % page == 0);
	p = mmap(NULL, page + size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (p == MAP_FAILED || mprotect(p, page, PROT_NONE) != 0) {
		fprintf(stderr, "out of memory mapping a stack of %zu bytes\n",
		    size);
		abort();
	}
	tell_mapped(p + page, size);
	return p + page;
}

void
coro_stack_unmap(char *low, size_t size)
{
	size_t page = page_size();

	tell_unmapped(low, size);
	ASSERT(munmap(low - page, page + size) == 0);
}

size_t
coro_stack_touched(char *low, size_t size)
{
	unsigned char resident[512];
	size_t page = page_size(), i = 0;

	ASSERT(size / page <= sizeof resident);
	if (mincore(low, size, resident) != 0)
		return 0;
	while (i < size / page && !(resident[i] & 1))
		i++;
	return size - i * page;
}

/* ---- switching ---- */

/* Handed to a first entry, which makecontext can't give a pointer. */
static _Thread_local struct coro *starting;

void
coro_init(struct coro *c, char *low, size_t size)
{
	memset(c, 0, sizeof *c);
	c->low = low;
	c->size = size;
	c->done = true;
	c->valgrind_id = VALGRIND_STACK_REGISTER(low, low + size);
	tell_made(c);
}

void
coro_fini(struct coro *c)
{
	VALGRIND_STACK_DEREGISTER(c->valgrind_id);
	tell_ended(c);
}

void
coro_set(struct coro *c, void (*fn)(void *arg), void *arg)
{
	ASSERT(c->done);
	c->fn = fn;
	c->arg = arg;
	c->done = false;
}

/* A coroutine that is done stays here, to be used again without a system
 * call. */
static void
entry(void)
{
	struct coro *c = starting;

	tell_arrived(NULL, &c->from_low, &c->from_size);
	for (;;) {
		c->fn(c->arg);
		c->done = true;
		coro_leave(c);
	}
}

/* Its frame is left for good by setcontext, so it must not have red zones that
 * nobody would clear. */
__attribute__((no_sanitize_address)) _Noreturn static void
begin(struct coro *c)
{
	ucontext_t u;

	c->begun = true;
	starting = c;
	ASSERT(getcontext(&u) == 0);
	u.uc_stack.ss_sp = c->low;
	u.uc_stack.ss_size = c->size;
	u.uc_link = NULL;
	makecontext(&u, entry, 0);
	setcontext(&u);
	UNREACHABLE();
}

void
coro_enter(struct coro *c)
{
	ASSERT(!c->done);
	tell_leaving(&c->from_fake, c->low, c->size);
	if (_setjmp(c->back) == 0) {
		tell_entering(c);
		if (c->begun)
			_longjmp(c->at, 1);
		begin(c);
	}
	tell_arrived(c->from_fake, NULL, NULL);
}

void
coro_leave(struct coro *c)
{
	tell_leaving(&c->fake, c->from_low, c->from_size);
	if (_setjmp(c->at) == 0) {
		tell_going_back(c);
		_longjmp(c->back, 1);
	}
	tell_arrived(c->fake, &c->from_low, &c->from_size);
}
