/* The data directory as files: log check, lock, version, cluster key, identity;
 * and the real engine on a damaged one. */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "regress/lib/cu.h"
#include "storage/datadir.h"
#include "storage/engine_wt.h"
#include "storage/identity.h"
#include "storage/t/rig.h"
#include "storage/wal_check.h"

static struct arena *arena;
static char dir[64];

/* The engine forgets to free what it has read of a log that it then asks to
 * repair. Called by the leak checker, where there is one. */
const char *__lsan_default_suppressions(void);
const char *
__lsan_default_suppressions(void)
{
	return "leak:libwiredtiger";
}

static int
remove_ev(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void
begin(void)
{
	arena = arena_new(NULL, "disk");
	snprintf(dir, sizeof dir, "/tmp/skaidb-disk-XXXXXX");
	MUST(mkdtemp(dir) != NULL);
}

static void
end(void)
{
	nftw(dir, remove_ev, 16, FTW_DEPTH | FTW_PHYS);
	arena_free(arena);
}

static const char *
in_dir(const char *name)
{
	return arena_printf(arena, "%s/%s", dir, name);
}

static void
write_file(const char *name, const void *p, size_t n)
{
	FILE *f = fopen(in_dir(name), "wb");

	MUST(f != NULL);
	MUST(fwrite(p, 1, n, f) == n);
	fclose(f);
}

/* ---- the log check ---- */

static void
put_record(uint8_t *at, uint32_t len)
{
	uint32_t crc;

	memset(at, 0x5a, len);
	memcpy(at, &len, 4);
	memset(at + 4, 0, 4);
	crc = st_wal_crc32c(0, at, len);
	memcpy(at + 4, &crc, 4);
}

static void
the_checksum_is_crc32c(void)
{
	CHECK(st_wal_crc32c(0, "123456789", 9) == 0xe3069283u);
	CHECK(st_wal_crc32c(st_wal_crc32c(0, "1234", 4), "56789", 5) ==
	      0xe3069283u);
}

static void
a_torn_tail_passes_and_damage_before_a_record_does_not(void)
{
	static uint8_t log[8192];

	begin();
	CHECK(st_wal_check(arena, dir) == NULL); /* no log at all */
	memset(log, 0, sizeof log);
	put_record(log, 128);
	put_record(log + 128, 256);
	put_record(log + 384, 128);
	write_file("WiredTigerLog.0000000001", log, sizeof log);
	CHECK(st_wal_check(arena, dir) == NULL);
	/* The last record is torn. */
	log[400] ^= 1;
	write_file("WiredTigerLog.0000000001", log, sizeof log);
	CHECK(st_wal_check(arena, dir) == NULL);
	log[400] ^= 1;
	/* One in the middle is damaged. */
	log[200] ^= 1;
	write_file("WiredTigerLog.0000000001", log, sizeof log);
	CHECK(err_is(st_wal_check(arena, dir), ERRCODE_DATA_CORRUPTED));
	log[200] ^= 1;
	/* A hole that nothing was ever written to, in the newest file. */
	memset(log + 128, 0, 256);
	write_file("WiredTigerLog.0000000001", log, sizeof log);
	CHECK(st_wal_check(arena, dir) == NULL);
	/* The same with a later file is damage. */
	write_file("WiredTigerLog.0000000002", log, 128);
	CHECK(err_is(st_wal_check(arena, dir), ERRCODE_DATA_CORRUPTED));
	/* A whole file with zeros behind is not. */
	put_record(log + 128, 256);
	write_file("WiredTigerLog.0000000001", log, sizeof log);
	CHECK(st_wal_check(arena, dir) == NULL);
	end();
}

static void
put_rows(struct kv *kv, void *arg)
{
	static char value[1000];

	(void)arg;
	for (int i = 0; i < 100; i++) {
		char key[16];
		int n = snprintf(key, sizeof key, "key%d", i);

		kv_put(kv, KV_ROWS, str_of(key, (size_t)n),
		    str_of(value, sizeof value));
	}
}

static void
write_rows(struct rig *r)
{
	for (int i = 0; i < 10; i++)
		engine_run(r->engine, 1, ENGINE_WRITE, put_rows, NULL);
	engine_sync(r->engine);
}

/* The directory of an engine that runs: as a crash leaves it, the log has what
 * no checkpoint has. */
static void
copy_files(const char *from)
{
	char *command = arena_printf(
	    arena, "find %s -maxdepth 1 -type f -exec cp {} %s \\;", from, dir);

	MUST(system(command) == 0);
}

static void
a_damaged_log_is_not_opened(void)
{
	struct rig r;
	struct engine *e;
	struct err *err;
	int fd;

	begin();
	rig_start(&r, RIG_WT);
	rig_open(&r);
	rig_run(&r, write_rows);
	copy_files(r.dir);
	CHECK(st_wal_check(arena, dir) == NULL);
	rig_close(&r);
	/* A bad byte in the middle, with acknowledged writes behind it. */
	fd = open(in_dir("WiredTigerLog.0000000001"), O_RDWR);
	MUST(fd >= 0);
	MUST(pwrite(fd, "X", 1, 200000) == 1);
	close(fd);
	CHECK(err_is(st_wal_check(arena, dir), ERRCODE_DATA_CORRUPTED));
	r.conf.dir = dir;
	err = engine_open(r.world, arena, &r.conf, &e);
	CHECK(err && err_is(err, ERRCODE_DATA_CORRUPTED));
	rig_stop(&r);
	end();
}

/* ---- what a power loss leaves ---- */

static void
put_named(struct kv *kv, void *arg)
{
	kv_put(kv, KV_ROWS, str_c(arg), STR("value"));
}

static void
write_first(struct rig *r)
{
	char first[] = "first", second[] = "second";

	engine_run(r->engine, 1, ENGINE_WRITE, put_named, first);
	engine_run(r->engine, 1, ENGINE_WRITE, put_named, second);
	engine_sync(r->engine);
}

/* Into the second log file. */
static void
write_late(struct rig *r)
{
	for (int i = 0; i < 25; i++)
		engine_run(r->engine, 1, ENGINE_WRITE, put_rows, NULL);
	engine_sync(r->engine);
}

static void
find_named(struct kv *kv, void *arg)
{
	uint32_t *found = arg;
	struct str v;

	*found = kv_get(kv, KV_ROWS, STR("first"), &v);
	*found += kv_get(kv, KV_ROWS, STR("second"), &v);
}

static uint32_t named_found;

static void
read_first(struct rig *r)
{
	engine_run(
	    r->engine, ENGINE_LANE_ANY, ENGINE_READ, find_named, &named_found);
}

/* What was flushed is in the first log; of the second, `damage` leaves some. */
static void
open_damaged(void (*damage)(int fd), bool repaired)
{
	struct rig r;
	int fd;

	begin();
	rig_start(&r, RIG_WT);
	rig_open(&r);
	rig_run(&r, write_first);
	rig_run(&r, write_late);
	copy_files(r.dir);
	rig_close(&r);
	fd = open(in_dir("WiredTigerLog.0000000002"), O_RDWR);
	MUST(fd >= 0);
	damage(fd);
	close(fd);
	r.conf.dir = dir;
	for (int i = 0; i < 2; i++) {
		named_found = 0;
		rig_open(&r);
		rig_run(&r, read_first);
		CHECK(named_found == 2);
		rig_close(&r);
	}
	CHECK(repaired == (access(in_dir("salvage-1"), F_OK) == 0));
	CHECK(access(in_dir("salvage-2"), F_OK) != 0);
	rig_stop(&r);
	end();
}

static void
hole(int fd)
{
	static const char zeros[128];

	MUST(pwrite(fd, zeros, sizeof zeros, 128) == sizeof zeros);
}

static void
only_header(int fd)
{
	MUST(ftruncate(fd, 128) == 0);
}

/* Blocks that were not flushed reach the disk in any order. Of the newest log
 * there are the header, a hole, and more; or a recovery that died itself has
 * cut that off, after which the engine asks to be told to repair, and a copy of
 * its files is kept. */
static void
a_log_torn_behind_what_was_flushed_loses_nothing_that_was(void)
{
	open_damaged(hole, false);
	open_damaged(only_header, true);
}

static void
a_disk_that_is_nearly_full_is_not_opened(void)
{
	struct rig r;
	struct engine *e;
	struct err *err;

	begin();
	rig_start(&r, RIG_WT);
	r.conf.disk_reserve = 1ull << 60;
	err = engine_open(r.world, arena, &r.conf, &e);
	CHECK(err && err_is(err, ERRCODE_DISK_FULL));
	r.conf.disk_reserve = 0;
	CHECK(engine_wt_reserve(&r.conf, 1000) ==
	      r.conf.cache_bytes + 4 * r.conf.log_file_bytes +
		  r.conf.checkpoint_log_bytes);
	CHECK(engine_wt_reserve(&r.conf, 1ull << 40) == (1ull << 40) / 20);
	rig_stop(&r);
	end();
}

/* ---- directory ---- */

static void
one_directory_has_one_owner(void)
{
	int a, b;
	struct err *e;

	begin();
	CHECK(st_datadir_open(arena, in_dir("d"), &a) == NULL);
	e = st_datadir_open(arena, in_dir("d"), &b);
	CHECK(e && err_is(e, ERRCODE_OBJECT_IN_USE));
	st_datadir_close(a);
	CHECK(st_datadir_open(arena, in_dir("d"), &b) == NULL);
	st_datadir_close(b);
	end();
}

static void
a_directory_of_another_format_is_refused(void)
{
	struct err *e;
	int fd;

	begin();
	write_file("VERSION", "skaidb data format 1\n", 21);
	e = st_datadir_open(arena, dir, &fd);
	CHECK(
	    e && strstr(e->message, "format") && strstr(e->detail, "format 1"));
	unlink(in_dir("VERSION"));
	write_file("WiredTiger", "x", 1);
	CHECK(st_datadir_open(arena, dir, &fd) != NULL);
	unlink(in_dir("WiredTiger"));
	write_file("VERSION", ST_DATA_VERSION, strlen(ST_DATA_VERSION));
	write_file("rows.wt", "x", 1);
	e = st_datadir_open(arena, dir, &fd);
	CHECK(e && err_is(e, ERRCODE_DATA_CORRUPTED));
	unlink(in_dir("rows.wt"));
	CHECK(st_datadir_open(arena, dir, &fd) == NULL);
	st_datadir_close(fd);
	end();
}

static void
the_cluster_key_is_made_once(void)
{
	const uint8_t random[32] = {1, 2, 3}, other[32] = {9};
	struct str key, again;
	struct stat st;

	begin();
	CHECK(st_keyfile_load(arena, in_dir("k"), false, random, &key) != NULL);
	CHECK(st_keyfile_load(arena, in_dir("k"), true, random, &key) == NULL);
	CHECK(key.len == 32 && memcmp(key.p, random, 32) == 0);
	CHECK(stat(in_dir("k"), &st) == 0 && (st.st_mode & 0777) == 0600);
	CHECK(st_keyfile_load(arena, in_dir("k"), true, other, &again) == NULL);
	CHECK(str_eq(key, again));
	write_file("short", "abcd", 4);
	CHECK(st_keyfile_load(arena, in_dir("short"), false, other, &key) !=
	      NULL);
	write_file("bad", "no hexadecimal", 14);
	CHECK(
	    st_keyfile_load(arena, in_dir("bad"), false, other, &key) != NULL);
	end();
}

static void
an_identity_is_what_it_was(void)
{
	static const uint8_t golden[] = {1, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
	    7, 7, 7, 7, 3, 0, 0, 0, 9, 0, 0, 0, 1};
	struct st_identity id = {.member = 3,
			       .incarnation = 9,
			       .founder = true},
			   out;
	struct buf b;

	begin();
	memset(id.cluster, 7, 16);
	buf_init(&b, arena);
	st_identity_put(&b, &id);
	CHECK(str_eq(buf_view(&b), str_of(golden, sizeof golden)));
	CHECK(st_identity_get(buf_view(&b), &out));
	CHECK(out.known && out.member == 3 && out.founder);
	for (size_t n = 0; n < b.len; n++)
		CHECK(!st_identity_get(str_of(b.p, n), &out));
	end();
}

CU_MAIN("disk", {"the_checksum_is_crc32c", the_checksum_is_crc32c},
    {"a_torn_tail_passes_and_damage_before_a_record_does_not",
	a_torn_tail_passes_and_damage_before_a_record_does_not},
    {"a_damaged_log_is_not_opened", a_damaged_log_is_not_opened},
    {"a_log_torn_behind_what_was_flushed_loses_nothing_that_was",
	a_log_torn_behind_what_was_flushed_loses_nothing_that_was},
    {"a_disk_that_is_nearly_full_is_not_opened",
	a_disk_that_is_nearly_full_is_not_opened},
    {"one_directory_has_one_owner", one_directory_has_one_owner},
    {"a_directory_of_another_format_is_refused",
	a_directory_of_another_format_is_refused},
    {"the_cluster_key_is_made_once", the_cluster_key_is_made_once},
    {"an_identity_is_what_it_was", an_identity_is_what_it_was})
