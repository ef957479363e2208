#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/world_real.h"

struct thread {
	struct arena *arena;
	pthread_t id;
	char name[16]; /* what the kernel keeps */
	void (*fn)(void *arg);
	void *arg;
};

static void *
thread_main(void *arg)
{
	struct thread *t = arg;

	pthread_setname_np(pthread_self(), t->name);
	t->fn(t->arg);
	return NULL;
}

void
world_real_thread(
    const char *name, void (*fn)(void *arg), void *arg, void **handle)
{
	struct arena *a = arena_new(NULL, "thread");
	struct thread *t = NEW(a, struct thread);
	sigset_t all, before;

	*handle = t;
	t->arena = a;
	t->fn = fn;
	t->arg = arg;
	snprintf(t->name, sizeof t->name, "%s", name);
	/* Signals are for the loop that asked for them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&t->id, NULL, thread_main, t) != 0) {
		fprintf(stderr, "could not start thread %s\n", name);
		abort();
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void
world_real_join(void *handle)
{
	struct thread *t = handle;

	ASSERT(pthread_join(t->id, NULL) == 0);
	arena_free(t->arena);
}
