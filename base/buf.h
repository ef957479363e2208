/* A growable byte buffer in an arena, and the cursor that reads one safely.
 * All decoding of bytes from sockets and disks goes through struct cur: its
 * reads check the remaining length by subtraction and never overrun; after the
 * first failed read the cursor is bad, every later read gives zero, and the
 * caller tests cur_ok() once. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/arena.h"

struct buf {
	struct arena *arena;
	uint8_t *p;
	size_t len;
	size_t cap;
};

void buf_init(struct buf *b, struct arena *a);
/* Room for n more bytes; returns where they go (len unchanged). */
void *buf_reserve(struct buf *b, size_t n);
void buf_put(struct buf *b, const void *p, size_t n);
void buf_str(struct buf *b, struct str s);
void buf_printf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void buf_u8(struct buf *b, uint8_t v);
/* Little-endian (frames, rows) and big-endian (keys, pg wire). */
void buf_le16(struct buf *b, uint16_t v);
void buf_le32(struct buf *b, uint32_t v);
void buf_le64(struct buf *b, uint64_t v);
void buf_be16(struct buf *b, uint16_t v);
void buf_be32(struct buf *b, uint32_t v);
void buf_be64(struct buf *b, uint64_t v);
/* LEB128, at most 10 bytes. */
void buf_varint(struct buf *b, uint64_t v);
/* varint length, then the bytes. */
void buf_lenstr(struct buf *b, struct str s);
struct str buf_view(const struct buf *b);
/* NUL-terminates (the NUL is not part of len) and returns the text. */
char *buf_cstr(struct buf *b);

struct cur {
	const uint8_t *p;
	size_t left;
	bool bad;
};

struct cur cur_of(struct str s);
bool cur_ok(const struct cur *c);   /* nothing failed so far */
bool cur_done(const struct cur *c); /* ok and everything consumed */
uint8_t cur_u8(struct cur *c);
uint16_t cur_le16(struct cur *c);
uint32_t cur_le32(struct cur *c);
uint64_t cur_le64(struct cur *c);
uint16_t cur_be16(struct cur *c);
uint32_t cur_be32(struct cur *c);
uint64_t cur_be64(struct cur *c);
/* Refuses more than 10 bytes, overflow, and non-minimal forms. */
uint64_t cur_varint(struct cur *c);
struct str cur_bytes(struct cur *c, size_t n);
struct str cur_lenstr(struct cur *c); /* varint length, then the bytes */
/* Up to a NUL, which is consumed; bad when there is none. */
struct str cur_cstr(struct cur *c);

#endif
