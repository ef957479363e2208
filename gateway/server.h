/* A gateway as a process: worker threads, the listeners whose connections are
 * handed to them round robin, and the stop that drains them.  Real world only;
 * used by the programs skaidb-gateway and skaidb. */
#ifndef GATEWAY_SERVER_H
#define GATEWAY_SERVER_H

#include "base/conf.h"
#include "gateway/facts.h"
#include "gateway/worker.h"

struct gw_server_conf {
	struct gw_conf worker;
	const char *listen; /* addresses for clients, separated by commas */
	const char *http;   /* address, or "" */
	uint32_t threads;
	uint64_t drain_us; /* how long running statements may finish */
	const struct conf *settings;
};

/* Settings shared by both programs, for their tables. */
#define GW_SERVER_ITEMS                                                        \
	{"listen", CONF_TEXT, "127.0.0.1:5433", 0, 0, "ADDR",                  \
	    "Addresses to listen on for clients, separated by commas: "        \
	    "host:port, [v6]:port or unix:/path."},                            \
	    {"http_listen", CONF_TEXT, "", 0, 0, "ADDR",                       \
		"Address of /healthz, /readyz, /metrics and /status; empty: "  \
		"none."},                                                      \
	    {"pid_file", CONF_TEXT, "", 0, 0, "FILE",                          \
		"File to write the process id to."},                           \
	    {"log_level", CONF_TEXT, "info", 0, 0, "LEVEL",                    \
		"error, warn, info or trace."},                                \
	    {"threads", CONF_INT, "2", 1, 64, "N",                             \
		"Worker threads that serve clients."},                         \
	    {"connections_max", CONF_INT, "1000", 1, 1000000, "N",             \
		"Client connections, over all threads; beyond, 53300."},       \
	    {"session_memory_max", CONF_BYTES, "512MB", 1 << 20, 1ll << 40,    \
		"SIZE", "Memory of one client session; beyond, 53200."},       \
	    {"insert_batch", CONF_BYTES, "8MB", 1 << 16, 1 << 28, "SIZE",      \
		"Rows that COPY and INSERT gather before they write them."},   \
	    {"row_size_max", CONF_BYTES, "1MB", 1024, 2 << 20, "SIZE",         \
		"Largest row; beyond, 54000."},                                \
	    {"trust_local", CONF_BOOL, "on", 0, 0, NULL,                       \
		"Clients on loopback and unix sockets need no password."},     \
	    {"drain", CONF_DURATION, "10s", 0, 3600ll * 1000000, "TIME",       \
		"How long a stop waits for running statements."},              \
	{                                                                      \
		"storage.statement_timeout_secs", CONF_INT, "30", 1, 290,      \
		    "SECONDS",                                                 \
		    "How long a statement may take without getting ahead; "    \
		    "statement_timeout is for the whole of it."                \
	}
/* Fills everything but seeds and the cluster key. */
void gw_server_conf_read(const struct conf *c, struct gw_server_conf *out);

struct gw_server;

/* Starts the threads and listens. `conf` is copied, its strings must outlive
 * the server. stopped(arg) runs on w's loop, once, after gw_server_stop. */
struct err *gw_server_start(struct world *w, struct arena *a,
    const struct gw_server_conf *conf, struct gw_server **out);
/* Stops listening, lets running statements finish for a while, cancels the
 * rest, ends the threads. Idempotent. */
void gw_server_stop(struct gw_server *s, void (*stopped)(void *arg), void *arg);

/* The worker of the main thread: it serves no clients, but knows the
 * cluster. */
struct gw_worker *gw_server_control(const struct gw_server *s);
const struct gw_probe *gw_server_probe(const struct gw_server *s);
/* Knows the catalog, and does not stop. */
bool gw_server_ready(const struct gw_server *s);
/* The status page, as base/http.h wants it. */
void gw_server_status(const struct gw_server *s, struct buf *json);

#endif
