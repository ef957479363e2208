#include "storage/wal_check.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* A record starts at a multiple of 128: length (itself a multiple of 128),
 * checksum over the record with the checksum field zero, flags, content. */
#define ALIGN      128u
#define LOG_PREFIX "WiredTigerLog."
#define RECORD_MAX (1u << 30)

uint32_t
st_wal_crc32c(uint32_t crc, const void *p, size_t n)
{
	static const uint32_t nibble[16] = {0x00000000, 0x105ec76f, 0x20bd8ede,
	    0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
	    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4,
	    0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
	const uint8_t *b = p;

	crc = ~crc;
	for (size_t i = 0; i < n; i++) {
		crc ^= b[i];
		crc = nibble[crc & 15] ^ (crc >> 4);
		crc = nibble[crc & 15] ^ (crc >> 4);
	}
	return ~crc;
}

struct log_file {
	char *name;
	char *path;
};

struct check {
	struct arena *arena;
	/* The first place that does not hold a valid record. */
	const struct log_file *bad_file;
	uint64_t bad_at;
	bool bad_is_hole; /* never written: zeros */
};

static bool
is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

/* Length of the valid record at p, 0 if there is none. */
static uint32_t
record_at(const uint8_t *p, size_t left)
{
	static const uint8_t no_crc[4];
	uint32_t len, crc, got;

	if (left < ALIGN)
		return 0;
	memcpy(&len, p, 4);
	memcpy(&crc, p + 4, 4);
	len = le32toh(len);
	if (len < ALIGN || len % ALIGN || len > left || len > RECORD_MAX)
		return 0;
	got = st_wal_crc32c(0, p, 4);
	got = st_wal_crc32c(got, no_crc, 4);
	got = st_wal_crc32c(got, p + 8, len - 8);
	return got == le32toh(crc) ? len : 0;
}

static struct err *
damaged(const struct check *c, const struct log_file *f, uint64_t at)
{
	struct err *e = ERR(c->arena, ERRCODE_DATA_CORRUPTED,
	    "the log of the data directory is damaged in file \"%s\" at byte "
	    "%llu",
	    c->bad_file->name, (unsigned long long)c->bad_at);

	err_detail(e,
	    "A valid record follows in file \"%s\" at byte %llu; opening it "
	    "would drop that and all later ones.",
	    f->name, (unsigned long long)at);
	return err_hint(e,
	    "Check the disk. Keep the directory, and let this node join with "
	    "an empty one.");
}

/* Writers of one process may be killed between two writes, the earlier one
 * missing: a hole of zeros in the newest file, with records behind it that no
 * flush ever covered.  That is a torn tail, too. */
static bool
is_torn_hole(const struct check *c, const struct log_file *f, bool newest)
{
	return newest && c->bad_file == f && c->bad_is_hole;
}

static struct err *
check_bytes(struct check *c, const struct log_file *f, bool newest,
    const uint8_t *p, size_t size)
{
	size_t at = 0;

	while (at + ALIGN <= size) {
		uint32_t len = record_at(p + at, size - at);

		if (len && c->bad_file && !is_torn_hole(c, f, newest))
			return damaged(c, f, at);
		if (!len && !c->bad_file) {
			c->bad_file = f;
			c->bad_at = at;
			c->bad_is_hole = is_zero(p + at, ALIGN);
		}
		at += len ? len : ALIGN;
	}
	/* A whole file before the newest ends where its content ends: zeros to
	 * the end of a preallocated file are no damage. */
	if (c->bad_file == f && !newest && c->bad_is_hole &&
	    is_zero(p + c->bad_at, size - c->bad_at))
		c->bad_file = NULL;
	return NULL;
}

static struct err *
io_error(struct arena *a, const char *what, const char *path)
{
	return ERR(a, ERRCODE_IO_ERROR, "could not %s \"%s\": %s", what, path,
	    strerror(errno));
}

static struct err *
check_file(struct check *c, const struct log_file *f, bool newest)
{
	struct arena *scratch = arena_new(NULL, "log check");
	FILE *in = fopen(f->path, "rb");
	struct err *e = NULL;
	struct buf b;
	size_t n;

	buf_init(&b, scratch);
	if (!in) {
		arena_free(scratch);
		return io_error(c->arena, "open", f->path);
	}
	do {
		n = fread(buf_reserve(&b, 1u << 20), 1, 1u << 20, in);
		b.len += n;
	} while (n > 0);
	if (ferror(in))
		e = io_error(c->arena, "read", f->path);
	fclose(in);
	if (!e)
		e = check_bytes(c, f, newest, b.p, b.len);
	arena_free(scratch);
	return e;
}

static int
by_name(const void *x, const void *y)
{
	const struct log_file *a = x, *b = y;

	return strcmp(a->name, b->name);
}

static struct err *
list_files(struct arena *a, const char *dir, struct log_file **files, size_t *n)
{
	DIR *d = opendir(dir);
	const struct dirent *ent;
	size_t cap = 0;

	*files = NULL;
	*n = 0;
	if (!d)
		return io_error(a, "read directory", dir);
	while ((ent = readdir(d))) {
		if (strncmp(ent->d_name, LOG_PREFIX, strlen(LOG_PREFIX)) != 0)
			continue;
		if (*n == cap) {
			size_t more = cap ? cap * 2 : 16;

			*files = arena_grow(a, *files, cap * sizeof **files,
			    more * sizeof **files);
			cap = more;
		}
		(*files)[(*n)++] =
		    (struct log_file){arena_strdup(a, ent->d_name),
			arena_printf(a, "%s/%s", dir, ent->d_name)};
	}
	closedir(d);
	if (*n)
		qsort(*files, *n, sizeof **files, by_name);
	return NULL;
}

struct err *
st_wal_check(struct arena *a, const char *dir)
{
	struct check c = {.arena = a};
	struct log_file *files;
	size_t n;

	TRY(list_files(a, dir, &files, &n));
	for (size_t i = 0; i < n; i++)
		TRY(check_file(&c, &files[i], i + 1 == n));
	return NULL;
}
