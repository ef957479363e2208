#include "storage/slice.h"

#include "cluster/key.h"

enum st_owner
st_slice_owner(const struct cl_catalog *c, uint32_t table, uint32_t *placement)
{
	const struct cl_object *counter = cl_find(c, CL_COUNTER, 0);

	*placement = CL_PLACEMENT_CATALOG;
	if (table < CL_ID_FIRST)
		return ST_OWNER_KNOWN;
	if (cl_catalog_rows_of(c, table, placement))
		return ST_OWNER_KNOWN;
	*placement = CL_PLACEMENT_CATALOG;
	return counter && table < counter->u.counter.next_id ? ST_OWNER_GONE
							     : ST_OWNER_UNKNOWN;
}

bool
st_slice_has(const struct cl_catalog *c, struct st_gid gid, uint32_t table)
{
	uint32_t placement;

	return st_slice_owner(c, table, &placement) == ST_OWNER_KNOWN &&
	       placement == gid.placement;
}

bool
st_slice_each(
    const struct cl_catalog *c, struct st_gid gid, size_t *at, uint32_t *table)
{
	uint32_t placement;

	if (gid.placement == CL_PLACEMENT_CATALOG) {
		*table = *at ? CL_TABLE_NAMES : CL_TABLE_OBJECTS;
		return (*at)++ < 2;
	}
	/* *at is the last one's id: they come in its order. */
	for (*table = (uint32_t)*at; cl_catalog_rows_next(c, table, &placement);
	     *at = *table)
		if (placement == gid.placement) {
			*at = *table;
			return true;
		}
	return false;
}

void
st_slice_open(struct st_slice *s, struct kv *kv, struct arena *a,
    const struct cl_catalog *c, struct st_gid gid)
{
	*s = (struct st_slice){
	    .cur = kv_open(kv, KV_ROWS), .arena = a, .catalog = c, .gid = gid};
}

static bool
seek_table(struct st_slice *s, uint32_t table, struct str *k, struct str *v)
{
	struct buf b;

	buf_init(&b, s->arena);
	cl_key_prefix(&b, table, s->gid.slot);
	return kv_seek(s->cur, buf_view(&b), k, v);
}

/* From where the cursor stands to the next row of the group. */
static bool
settle(struct st_slice *s, bool more, struct str *k, struct str *v)
{
	uint32_t table, placement;
	uint16_t slot;
	struct str rest;

	while (more && cl_key_split(*k, &table, &slot, &rest)) {
		enum st_owner owner;

		if (slot == s->gid.slot && table == s->table)
			return true;
		/* The catalog's own tables come before all others. */
		if (table >= CL_ID_FIRST &&
		    s->gid.placement == CL_PLACEMENT_CATALOG)
			return false;
		owner = st_slice_owner(s->catalog, table, &placement);
		if (slot < s->gid.slot) {
			more = seek_table(s, table, k, v);
			continue;
		}
		if (slot == s->gid.slot && owner == ST_OWNER_UNKNOWN) {
			s->unknown = true;
			return false;
		}
		if (slot == s->gid.slot && owner == ST_OWNER_KNOWN &&
		    placement == s->gid.placement) {
			s->table = table;
			return true;
		}
		if (table == UINT32_MAX)
			return false;
		more = seek_table(s, table + 1, k, v);
	}
	return false;
}

bool
st_slice_seek(
    struct st_slice *s, struct str after, struct str *k, struct str *v)
{
	struct buf b;

	if (!after.len)
		return settle(s, seek_table(s, 1, k, v), k, v);
	/* The smallest key behind it. */
	buf_init(&b, s->arena);
	buf_str(&b, after);
	buf_u8(&b, 0);
	return settle(s, kv_seek(s->cur, buf_view(&b), k, v), k, v);
}

bool
st_slice_next(struct st_slice *s, struct str *k, struct str *v)
{
	return settle(s, kv_next(s->cur, k, v), k, v);
}

void
st_slice_close(struct st_slice *s)
{
	kv_close(s->cur);
}
