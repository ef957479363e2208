#include <event2/util.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/un.h>

#include "base/real_int.h"

#define UNIX_PREFIX "unix:"

/* ---- text ---- */

static bool
parse_unix(const char *path, struct addr *out)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	if (!*path || strlen(path) >= sizeof un.sun_path)
		return false;
	memcpy(un.sun_path, path, strlen(path) + 1);
	memcpy(&out->ss, &un, sizeof un);
	out->len = sizeof un;
	return true;
}

bool
addr_parse(const char *text, struct addr *out)
{
	int len = sizeof out->ss;

	memset(out, 0, sizeof *out);
	if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0)
		return parse_unix(text + strlen(UNIX_PREFIX), out);
	if (evutil_parse_sockaddr_port(
		text, (struct sockaddr *)&out->ss, &len) != 0)
		return false;
	out->len = (socklen_t)len;
	/* Without a port it is an address of nothing. */
	if (out->ss.ss_family == AF_INET6)
		return ((struct sockaddr_in6 *)&out->ss)->sin6_port != 0;
	return ((struct sockaddr_in *)&out->ss)->sin_port != 0;
}

const char *
addr_text(struct arena *a, const struct sockaddr *sa, socklen_t len)
{
	char host[64], port[16];

	if (sa->sa_family == AF_UNIX) {
		const struct sockaddr_un *un =
		    (const struct sockaddr_un *)(const void *)sa;
		size_t at = offsetof(struct sockaddr_un, sun_path);

		if (len <= at || !un->sun_path[0])
			return "unix";
		return arena_printf(
		    a, UNIX_PREFIX "%.*s", (int)(len - at), un->sun_path);
	}
	if (getnameinfo(sa, len, host, sizeof host, port, sizeof port,
		NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return "unknown";
	return arena_printf(
	    a, sa->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

bool
addr_is_local(const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET) {
		const struct sockaddr_in *in =
		    (const struct sockaddr_in *)(const void *)sa;

		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	}
	if (sa->sa_family == AF_INET6) {
		const struct in6_addr *in6 =
		    &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr;

		return IN6_IS_ADDR_LOOPBACK(in6) ||
		       (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == 127);
	}
	return sa->sa_family == AF_UNIX;
}

/* ---- names ---- */

const char *
addr_split(const char *text, char host[ADDR_HOST_MAX], const char **port)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;
	uint64_t number;

	if (n == 0)
		return "expected host:port";
	if (text[0] == '[' && n > 2 && text[n - 1] == ']') {
		text++;
		n -= 2;
	}
	if (n >= ADDR_HOST_MAX)
		return "host name too long";
	if (!str_u64(str_c(colon + 1), &number) || number == 0 ||
	    number > 65535)
		return "expected a port from 1 to 65535";
	memcpy(host, text, n);
	host[n] = 0;
	*port = colon + 1;
	return NULL;
}

static const char *
resolve(const char *text, struct addrs *out)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
	const char *port, *why;
	char host[ADDR_HOST_MAX];
	int r;

	out->n = 0;
	if (addr_parse(text, &out->v[0])) {
		out->n = 1;
		return NULL;
	}
	if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0)
		return "bad path";
	why = addr_split(text, host, &port);
	if (why)
		return why;
	r = getaddrinfo(host, port, &hints, &found);
	if (r != 0)
		return gai_strerror(r);
	for (struct addrinfo *i = found; i && out->n < ADDRS_MAX;
	     i = i->ai_next) {
		struct addr *to = &out->v[out->n++];

		memcpy(&to->ss, i->ai_addr, i->ai_addrlen);
		to->len = i->ai_addrlen;
	}
	freeaddrinfo(found);
	return out->n > 0 ? NULL : "no address";
}

struct err *
addr_resolve(struct arena *a, const char *text, struct addrs *out)
{
	const char *why = resolve(text, out);

	if (!why)
		return NULL;
	return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
	    "invalid address \"%s\": %s", text, why);
}

/* The thread has `found` and `why` until it posts `finished`. */
struct lookup {
	struct arena *arena;
	struct world *world;
	struct list link;
	const char *text;
	void *thread;
	void (*done)(void *arg, const struct addrs *found, const char *why);
	void *arg;
	struct addrs found;
	const char *why;
};

static void
finished(void *arg)
{
	struct lookup *l = arg;

	list_del(&l->link);
	world_real_join(l->thread);
	if (l->done)
		l->done(l->arg, &l->found, l->why);
	arena_free(l->arena);
}

static void
lookup_main(void *arg)
{
	struct lookup *l = arg;

	l->why = resolve(l->text, &l->found);
	world_real_call(l->world, finished, l);
}

struct lookup *
addr_lookup(struct world *w, const char *text,
    void (*done)(void *arg, const struct addrs *found, const char *why),
    void *arg)
{
	struct lookups *all = real_lookups(w);
	struct arena *a = arena_new(all->arena, "lookup");
	struct lookup *l = NEW(a, struct lookup);

	l->arena = a;
	l->world = w;
	l->text = arena_strdup(a, text);
	l->done = done;
	l->arg = arg;
	list_push(&all->running, &l->link);
	world_real_thread("resolver", lookup_main, l, &l->thread);
	return l;
}

void
addr_lookup_forget(struct lookup *l)
{
	l->done = NULL;
}

void
addr_lookups_join(struct lookups *all)
{
	struct list *i;

	while ((i = list_pop(&all->running)))
		world_real_join(LIST_ENTRY(i, struct lookup, link)->thread);
}
