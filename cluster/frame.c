#include <xxhash.h>

#include "cluster/msg.h"

void
cl_frame_begin(struct buf *b, const struct cl_frame *f)
{
	ASSERT(!b->len && !(f->flags & ~CL_FLAGS));
	buf_le32(b, 0); /* the length, when it is known */
	buf_le16(b, f->kind);
	buf_u8(b, CL_FORMAT);
	buf_u8(b, f->flags);
	buf_le64(b, f->request);
	buf_le64(b, f->catalog);
	buf_le64(b, f->slots);
	buf_le64(b, f->stamp);
	ASSERT(b->len == CL_FRAME_HEADER);
}

void
cl_frame_end(struct buf *b)
{
	size_t n = b->len + CL_FRAME_TRAILER;

	ASSERT(b->len >= CL_FRAME_HEADER && n <= NET_FRAME_MAX);
	for (unsigned i = 0; i < 4; i++)
		b->p[i] = (uint8_t)(n >> 8 * i);
	buf_le64(b, XXH3_64bits(b->p, b->len));
}

struct err *
cl_frame_read(struct arena *a, struct str bytes, struct cl_frame *f)
{
	struct cur c = cur_of(bytes);
	uint32_t n = cur_le32(&c);
	unsigned format;
	size_t body;

	*f = (struct cl_frame){.kind = cur_le16(&c)};
	format = cur_u8(&c);
	/* The format first: another one may have another header. */
	if (cur_ok(&c) && format != CL_FORMAT)
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "frame of format %u, this program speaks format %u", format,
		    (unsigned)CL_FORMAT);
	if (n != bytes.len || n < CL_FRAME_HEADER + CL_FRAME_TRAILER ||
	    n > NET_FRAME_MAX)
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "frame of %zu bytes says its length is %u", bytes.len, n);
	f->flags = cur_u8(&c);
	f->request = cur_le64(&c);
	f->catalog = cur_le64(&c);
	f->slots = cur_le64(&c);
	f->stamp = cur_le64(&c);
	body = n - CL_FRAME_HEADER - CL_FRAME_TRAILER;
	f->body = cur_bytes(&c, body);
	if (cur_le64(&c) != XXH3_64bits(bytes.p, n - CL_FRAME_TRAILER))
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "frame with a wrong checksum");
	if (f->flags & ~CL_FLAGS)
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "frame with unknown flags 0x%02x", (unsigned)f->flags);
	ASSERT(cur_done(&c));
	return NULL;
}
