#include "storage/salvage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT_MAX 1000

static struct err *
io_error(struct arena *a, const char *what, const char *path)
{
	return ERR(a, errno == ENOSPC ? ERRCODE_DISK_FULL : ERRCODE_IO_ERROR,
	    "could not %s \"%s\": %s", what, path, strerror(errno));
}

static struct err *
copy_bytes(struct arena *a, int in, int out, const char *to)
{
	ssize_t n;

	do
		n = sendfile(out, in, NULL, 1u << 20);
	while (n > 0);
	if (n < 0 || fsync(out) != 0)
		return io_error(a, "write", to);
	return NULL;
}

static struct err *
copy_file(struct arena *a, const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	struct err *e;
	int out;

	if (in < 0)
		return io_error(a, "open", from);
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0) {
		e = io_error(a, "create", to);
		close(in);
		return e;
	}
	e = copy_bytes(a, in, out, to);
	close(in);
	close(out);
	return e;
}

static struct err *
new_directory(struct arena *a, const char *dir, char **made)
{
	for (int i = 1; i <= KEPT_MAX; i++) {
		*made = arena_printf(a, "%s/salvage-%d", dir, i);
		if (mkdir(*made, 0700) == 0)
			return NULL;
		if (errno != EEXIST)
			break;
	}
	return io_error(a, "create directory", *made);
}

struct err *
st_salvage_keep(struct arena *a, const char *dir)
{
	const struct dirent *ent;
	struct err *e = NULL;
	char *to;
	DIR *d;

	TRY(new_directory(a, dir, &to));
	d = opendir(dir);
	if (!d)
		return io_error(a, "read directory", dir);
	while (!e && (ent = readdir(d)))
		if (strncmp(ent->d_name, "WiredTiger", 10) == 0)
			e = copy_file(a,
			    arena_printf(a, "%s/%s", dir, ent->d_name),
			    arena_printf(a, "%s/%s", to, ent->d_name));
	closedir(d);
	return e;
}

uint64_t
st_dir_bytes(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *ent;
	uint64_t sum = 0;
	struct stat st;

	if (!d)
		return 0;
	while ((ent = readdir(d)))
		if (fstatat(dirfd(d), ent->d_name, &st, 0) == 0 &&
		    S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_blocks * 512;
	closedir(d);
	return sum;
}
