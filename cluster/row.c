#include "cluster/row.h"

#include "base/err.h"

#define ROW_FLAGS    ((unsigned)CL_ROW_TOMBSTONE)
#define ROW_STAMP_AT 2

void
cl_row_begin(struct buf *b, uint8_t flags)
{
	ASSERT(!(flags & ~ROW_FLAGS));
	buf_u8(b, CL_ROW_FORMAT);
	buf_u8(b, flags);
	buf_le64(b, 0);
}

void
cl_row_col(struct buf *b, uint32_t id, enum cl_tag tag, struct str v)
{
	ASSERT(id && tag <= CL_TAG_MAX);
	buf_varint(b, id);
	buf_u8(b, (uint8_t)tag);
	buf_lenstr(b, v);
}

void
cl_row_set_stamp(void *row, cl_stamp s)
{
	uint8_t *p = row;

	ASSERT(p[0] == CL_ROW_FORMAT);
	for (unsigned i = 0; i < 8; i++)
		p[ROW_STAMP_AT + i] = (uint8_t)(s >> 8 * i);
}

static bool
row_read_head(struct cur *c, struct cl_row_head *h)
{
	uint8_t format = cur_u8(c);

	h->flags = cur_u8(c);
	h->stamp = cur_le64(c);
	return cur_ok(c) && format == CL_ROW_FORMAT &&
	       !(h->flags & ~ROW_FLAGS) &&
	       (!(h->flags & CL_ROW_TOMBSTONE) || !c->left);
}

bool
cl_row_head(struct str row, struct cl_row_head *h)
{
	struct cur c = cur_of(row);

	return row_read_head(&c, h);
}

bool
cl_row_open(struct str row, struct cl_row_cur *it)
{
	struct cl_row_head h;

	it->c = cur_of(row);
	it->last_id = 0;
	if (!row_read_head(&it->c, &h))
		it->c.bad = true;
	return cur_ok(&it->c);
}

bool
cl_row_next(struct cl_row_cur *it, struct cl_row_col *col)
{
	uint64_t id;

	*col = (struct cl_row_col){0, CL_TAG_NONE, STR_NONE};
	if (!cur_ok(&it->c) || !it->c.left)
		return false;
	id = cur_varint(&it->c);
	col->tag = (enum cl_tag)cur_u8(&it->c);
	col->v = cur_lenstr(&it->c);
	if (id <= it->last_id || id > UINT32_MAX || col->tag > CL_TAG_MAX)
		it->c.bad = true;
	if (!cur_ok(&it->c))
		return false;
	col->id = it->last_id = (uint32_t)id;
	return true;
}

bool
cl_row_ok(const struct cl_row_cur *it)
{
	return cur_ok(&it->c);
}
