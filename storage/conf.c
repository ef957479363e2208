#include "base/conf.h"
#include "storage/node.h"

const struct conf_item st_conf_items[] = {
    {"listen", CONF_TEXT, "127.0.0.1:7433", 0, 0, "ADDR",
	"Addresses to listen on for gateways and nodes, separated by commas: "
	"host:port, [v6]:port or unix:/path."},
    {"advertise", CONF_TEXT, "", 0, 0, "ADDR",
	"Address that gateways and other nodes connect to; empty: the first "
	"one listened on."},
    {"dir", CONF_TEXT, "./data", 0, 0, "DIR", "Data directory."},
    {"alias", CONF_TEXT, "", 0, 0, "NAME",
	"Name of this member; empty: skai and its number."},
    {"zone", CONF_TEXT, "", 0, 0, "NAME",
	"Where this node stands (rack, room, region): copies are spread over "
	"zones."},
    {"init", CONF_BOOL, "off", 0, 0, NULL,
	"Form a new cluster in an empty data directory; on exactly one node."},
    {"join", CONF_TEXT, "", 0, 0, "ADDRS",
	"Addresses of members, separated by commas, to join by from an empty "
	"data directory."},
    {"slots", CONF_INT, "256", 1, 4096, "N",
	"Slots of a cluster being formed: a power of two, fixed for ever."},
    {"replication", CONF_INT, "1", 1, 16, "N",
	"Copies of each row in a cluster being formed."},
    {"bootstrap_user", CONF_TEXT, "", 0, 0, "NAME",
	"Superuser and database made, beside postgres, in a cluster being "
	"formed."},
    {"http_listen", CONF_TEXT, "", 0, 0, "ADDR",
	"Address of /healthz, /readyz, /metrics and /status; empty: none."},
    {"pid_file", CONF_TEXT, "", 0, 0, "FILE",
	"File to write the process id to."},
    {"log_level", CONF_TEXT, "info", 0, 0, "LEVEL",
	"error, warn, info or trace."},
    {"max_clock_skew", CONF_DURATION, "500ms", 500000, 500000, "TIME",
	"Largest difference between clocks of the cluster; fixed."},
    {"cluster.key_file", CONF_TEXT, "", 0, 0, "FILE",
	"File with the cluster key, 64 hexadecimal digits or more; empty: "
	"cluster.key in the data directory. --init makes it if missing."},
    {"storage.cache", CONF_BYTES, "64MB", 16 << 20, 1ll << 42, "SIZE",
	"Memory for the engine's cache."},
    {"storage.log_file", CONF_BYTES, "8MB", 1 << 20, 1ll << 31, "SIZE",
	"Size of one file of the engine's log."},
    {"storage.checkpoint_log", CONF_BYTES, "32MB", 1 << 20, 1ll << 36, "SIZE",
	"Log written between two checkpoints; bounds recovery."},
    {"storage.disk_reserve", CONF_BYTES, "0", 0, 1ll << 50, "SIZE",
	"Free disk space below which writes are refused; 0: the larger of 5 % "
	"of the disk and what the engine may need at once."},
    {"storage.threads", CONF_INT, "2", 0, 16, "N",
	"Engine threads; 0: everything on the network thread."},
    {"storage.inline_reads", CONF_BOOL, "on", 0, 0, NULL,
	"Read by key on the network thread: faster when the cache holds the "
	"data, but a read from disk holds up everything else."},
    {"storage.inline_writes", CONF_BOOL, "on", 0, 0, NULL,
	"Apply a row's change on the network thread while the engine threads "
	"have nothing to do."},
    {"storage.statement_timeout_secs", CONF_INT, "30", 1, 3600, "SECONDS",
	"Upper bound of any request's work."},
    {"storage.retry_window", CONF_DURATION, "10min", 2000000, 86400ll * 1000000,
	"TIME", "How long results of operations are kept for repeated sends."},
    {"storage.tombstone_age", CONF_DURATION, "60s", 0, 86400ll * 1000000,
	"TIME", "How long the mark of a deleted row stays."},
    {"storage.sweep_interval", CONF_DURATION, "5s", 10000, 3600ll * 1000000,
	"TIME", "Pause between rounds of housekeeping."},
    {"storage.requests_max", CONF_INT, "1024", 1, 65536, "N",
	"Requests under way per connection; beyond, it is not read from."},
    {"storage.connections_max", CONF_INT, "1024", 1, 65536, "N",
	"Connections of gateways and nodes."},
    {"storage.drain", CONF_DURATION, "10s", 0, 3600ll * 1000000, "TIME",
	"How long a stop waits for requests under way."},
    {"storage.leader_lease", CONF_DURATION, "600ms", 0, 60000000, "TIME",
	"How long a leader may answer reads alone after it heard from a "
	"majority; 0: a majority confirms each batch of reads. The same on all "
	"nodes."},
    {"storage.heartbeat", CONF_DURATION, "100ms", 10000, 10000000, "TIME",
	"Pause between two heartbeats of a pair of nodes."},
    {"storage.log_retention", CONF_BYTES, "64MB", 1 << 20, 1ll << 40, "SIZE",
	"Log kept for members that are behind; a member behind more is copied "
	"anew."},
    {"storage.resync_rate", CONF_BYTES, "32MB", 1 << 10, 1ll << 40, "SIZE",
	"Rows per second that this node fetches to make its copies equal to "
	"the others' again."},
    {"storage.scrub_interval", CONF_DURATION, "1h", 0, 366ll * 86400 * 1000000,
	"TIME",
	"How often the copies of each group are compared; 0: only by REPAIR "
	"CLUSTER."},
    {NULL, CONF_TEXT, NULL, 0, 0, NULL, NULL},
};

void
st_conf_defaults(struct st_conf *c)
{
	*c = (struct st_conf){.dir = "",
	    .listen = "",
	    .advertise = "",
	    .alias = "",
	    .zone = "",
	    .join = "",
	    .slots = 256,
	    .replication = 1,
	    .bootstrap_user = "",
	    .cache_bytes = 64u << 20,
	    .log_file_bytes = 8u << 20,
	    .checkpoint_log_bytes = 32u << 20,
	    .engine_threads = 2,
	    .inline_reads = true,
	    .inline_writes = true,
	    .statement_timeout_us = 30000000u,
	    .retry_window_us = 600000000u,
	    .tombstone_age_us = 60000000u,
	    .txn_abort_after_us = 60000000u,
	    .txn_retention_us = 24 * 3600000000u,
	    .sweep_interval_us = 5000000u,
	    .requests_max = 1024,
	    .connections_max = 1024,
	    .drain_us = 10000000u,
	    .leader_lease_us = 600000u,
	    .beat_us = 100000u,
	    .log_retention = 64u << 20,
	    .resync_rate = 32u << 20,
	    .resync_page = 1u << 20,
	    .scrub_interval_us = 3600000000u};
}

void
st_conf_read(const struct conf *c, struct st_conf *out)
{
	st_conf_defaults(out);
	out->dir = conf_text(c, "dir");
	out->listen = conf_text(c, "listen");
	out->advertise = conf_text(c, "advertise");
	out->alias = conf_text(c, "alias");
	out->zone = conf_text(c, "zone");
	out->init = conf_bool(c, "init");
	out->join = conf_text(c, "join");
	out->slots = (uint32_t)conf_int(c, "slots");
	out->replication = (uint32_t)conf_int(c, "replication");
	out->bootstrap_user = conf_text(c, "bootstrap_user");
	out->cache_bytes = (uint64_t)conf_int(c, "storage.cache");
	out->log_file_bytes = (uint64_t)conf_int(c, "storage.log_file");
	out->checkpoint_log_bytes =
	    (uint64_t)conf_int(c, "storage.checkpoint_log");
	out->disk_reserve = (uint64_t)conf_int(c, "storage.disk_reserve");
	out->engine_threads = (int)conf_int(c, "storage.threads");
	out->inline_reads = conf_bool(c, "storage.inline_reads");
	out->inline_writes = conf_bool(c, "storage.inline_writes");
	out->statement_timeout_us =
	    (uint64_t)conf_int(c, "storage.statement_timeout_secs") * 1000000;
	out->retry_window_us = (uint64_t)conf_int(c, "storage.retry_window");
	out->tombstone_age_us = (uint64_t)conf_int(c, "storage.tombstone_age");
	out->sweep_interval_us =
	    (uint64_t)conf_int(c, "storage.sweep_interval");
	out->requests_max = (uint32_t)conf_int(c, "storage.requests_max");
	out->connections_max = (uint32_t)conf_int(c, "storage.connections_max");
	out->drain_us = (uint64_t)conf_int(c, "storage.drain");
	out->leader_lease_us = (uint64_t)conf_int(c, "storage.leader_lease");
	out->beat_us = (uint64_t)conf_int(c, "storage.heartbeat");
	out->log_retention = (uint64_t)conf_int(c, "storage.log_retention");
	out->resync_rate = (uint64_t)conf_int(c, "storage.resync_rate");
	out->scrub_interval_us =
	    (uint64_t)conf_int(c, "storage.scrub_interval");
}
