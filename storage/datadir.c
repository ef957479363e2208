#include "storage/datadir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "cluster/handshake.h"

#define KEY_HEX_MAX 4096

static struct err *
io_error(struct arena *a, const char *what, const char *path)
{
	const char *code = errno == ENOSPC || errno == EDQUOT
			       ? ERRCODE_DISK_FULL
			       : ERRCODE_IO_ERROR;

	return ERR(
	    a, code, "could not %s \"%s\": %s", what, path, strerror(errno));
}

/* Reads up to n - 1 bytes; *got is -1 when there is no such file. */
static struct err *
read_small(struct arena *a, const char *path, char *p, size_t n, ssize_t *got)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*got = -1;
	if (fd < 0)
		return errno == ENOENT ? NULL : io_error(a, "open", path);
	*got = read(fd, p, n - 1);
	if (*got < 0) {
		close(fd);
		return io_error(a, "read", path);
	}
	p[*got] = 0;
	close(fd);
	return NULL;
}

static struct err *
sync_dir_of(struct arena *a, const char *path)
{
	char *dir = arena_strdup(a, path);
	char *slash = strrchr(dir, '/');
	int fd, r;

	if (slash == dir)
		slash++;
	if (slash)
		*slash = 0;
	fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return io_error(a, "open directory", slash ? dir : ".");
	r = fsync(fd);
	close(fd);
	return r == 0 ? NULL : io_error(a, "sync directory", dir);
}

static struct err *
write_and_sync(struct arena *a, int fd, const char *path, struct str content)
{
	ssize_t n = write(fd, content.p, content.len);

	if (n >= 0 && (size_t)n < content.len)
		errno = ENOSPC;
	if (n < 0 || (size_t)n < content.len)
		return io_error(a, "write", path);
	if (fsync(fd) != 0)
		return io_error(a, "sync", path);
	return NULL;
}

/* A file appears whole or not at all, also after a power loss. */
static struct err *
create_whole(struct arena *a, const char *path, struct str content)
{
	const char *tmp = arena_printf(a, "%s.tmp", path);
	int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct err *e;

	if (fd < 0)
		return io_error(a, "create", tmp);
	e = write_and_sync(a, fd, tmp, content);
	close(fd);
	if (!e && rename(tmp, path) != 0)
		e = io_error(a, "rename", tmp);
	if (e) {
		unlink(tmp);
		return e;
	}
	return sync_dir_of(a, path);
}

/* ---- the lock ---- */

static struct err *
in_use(struct arena *a, const char *dir, int fd)
{
	char pid[32];
	ssize_t n = pread(fd, pid, sizeof pid - 1, 0);

	pid[n > 0 ? n : 0] = 0;
	pid[strcspn(pid, "\n")] = 0;
	return err_hint(ERR(a, ERRCODE_OBJECT_IN_USE,
			    "data directory \"%s\" is in use by another "
			    "process%s%s",
			    dir, pid[0] ? ", pid " : "", pid),
	    "Stop that process, or give this node a directory of its own.");
}

static struct err *
take_lock(struct arena *a, const char *dir, int *lock_fd)
{
	const char *path = arena_printf(a, "%s/LOCK", dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	char pid[32];
	int n;

	if (fd < 0)
		return io_error(a, "open", path);
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		struct err *e = in_use(a, dir, fd);

		close(fd);
		return e;
	}
	/* The text only helps people; a full disk does not matter here. */
	n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) == 0 && pwrite(fd, pid, (size_t)n, 0) != n)
		(void)!ftruncate(fd, 0);
	*lock_fd = fd;
	return NULL;
}

/* ---- VERSION ---- */

/* Engine files without VERSION, or the other way round, are not ours, or no
 * longer whole. */
static bool
has_engine_files(const char *dir, bool *main_file)
{
	DIR *d = opendir(dir);
	const struct dirent *ent;
	bool any = false;

	*main_file = false;
	if (!d)
		return false;
	while ((ent = readdir(d))) {
		size_t n = strlen(ent->d_name);

		if (strcmp(ent->d_name, "WiredTiger") == 0)
			*main_file = true;
		if (strncmp(ent->d_name, "WiredTiger", 10) == 0 ||
		    (n > 3 && strcmp(ent->d_name + n - 3, ".wt") == 0))
			any = true;
	}
	closedir(d);
	return any;
}

static struct err *
check_version(struct arena *a, const char *dir)
{
	const char *path = arena_printf(a, "%s/VERSION", dir);
	bool main_file, any = has_engine_files(dir, &main_file);
	char text[128];
	ssize_t n;

	TRY(read_small(a, path, text, sizeof text, &n));
	if (n < 0 && any)
		return ERR(a, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
		    "directory \"%s\" holds database files but is no skaidb "
		    "data directory: \"VERSION\" is missing",
		    dir);
	if (n < 0)
		return create_whole(a, path, STR(ST_DATA_VERSION));
	if (strcmp(text, ST_DATA_VERSION) != 0) {
		text[strcspn(text, "\r\n")] = 0;
		return err_detail(
		    ERR(a, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
			"data directory \"%s\" has a format that this build "
			"does not read",
			dir),
		    "Its VERSION says \"%.60s\"; this build reads \"%.*s\".",
		    text,
		    STR_FMT(
			str_of(ST_DATA_VERSION, strlen(ST_DATA_VERSION) - 1)));
	}
	if (any && !main_file)
		return ERR(a, ERRCODE_DATA_CORRUPTED,
		    "data directory \"%s\" is incomplete: file \"WiredTiger\" "
		    "is missing",
		    dir);
	return NULL;
}

struct err *
st_datadir_make(struct arena *a, const char *dir)
{
	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return io_error(a, "create directory", dir);
	return NULL;
}

struct err *
st_datadir_open(struct arena *a, const char *dir, int *lock_fd)
{
	struct err *e;

	*lock_fd = -1;
	TRY(st_datadir_make(a, dir));
	TRY(take_lock(a, dir, lock_fd));
	e = check_version(a, dir);
	if (e) {
		st_datadir_close(*lock_fd);
		*lock_fd = -1;
	}
	return e;
}

void
st_datadir_close(int lock_fd)
{
	if (lock_fd >= 0)
		close(lock_fd);
}

/* ---- the cluster key ---- */

static struct err *
make_key(struct arena *a, const char *path, const uint8_t *random)
{
	struct buf b;

	buf_init(&b, a);
	for (int i = 0; i < CL_KEY_MIN; i++)
		buf_printf(&b, "%02x", random[i]);
	buf_u8(&b, '\n');
	return create_whole(a, path, buf_view(&b));
}

struct err *
st_keyfile_load(struct arena *a, const char *path, bool create,
    const uint8_t *random, struct str *key)
{
	char text[KEY_HEX_MAX];
	ssize_t n;

	*key = STR_NONE;
	TRY(read_small(a, path, text, sizeof text, &n));
	if (n < 0 && create) {
		TRY(make_key(a, path, random));
		TRY(read_small(a, path, text, sizeof text, &n));
	}
	if (n < 0)
		return err_hint(
		    ERR(a, ERRCODE_CONFIG_FILE_ERROR,
			"cluster key file \"%s\" does not exist", path),
		    "Copy it from another member, or form a cluster with "
		    "--init.");
	return cl_cluster_key_parse(a, path, str_of(text, (size_t)n), key);
}
