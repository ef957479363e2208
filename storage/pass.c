#include "storage/pass.h"

#include "base/mutate.h"

#define FORMAT 1

void
st_pass_put(struct buf *b, const struct st_pass *p)
{
	buf_u8(b, FORMAT);
	st_ballot_put(b, &p->ballot);
	buf_le64(b, p->begun);
	buf_varint(b, p->n);
	for (uint32_t i = 0; i < p->n; i++) {
		buf_lenstr(b, p->ranges[i].upto);
		buf_varint(b, p->ranges[i].index);
	}
}

bool
st_pass_get(struct str bytes, struct st_pass *p)
{
	struct cur c = cur_of(bytes);
	uint64_t n;

	memset(p, 0, sizeof *p);
	if (cur_u8(&c) != FORMAT)
		return false;
	p->ballot = st_ballot_get(&c);
	p->begun = cur_le64(&c);
	n = cur_varint(&c);
	if (n > ST_RANGES_MAX)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		p->ranges[i].upto = cur_lenstr(&c);
		p->ranges[i].index = cur_varint(&c);
	}
	p->n = (uint32_t)n;
	return cur_done(&c);
}

bool
st_pass_takes(const struct st_pass *p, struct str key, uint64_t index)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (str_cmp(key, p->ranges[i].upto) <= 0)
			return index > p->ranges[i].index ||
			       mutate("resync_page_any_index");
	return false;
}

struct str
st_pass_end(const struct st_pass *p)
{
	return p->n ? p->ranges[p->n - 1].upto : STR_NONE;
}

uint64_t
st_pass_index(const struct st_pass *p)
{
	uint64_t index = 0;

	for (uint32_t i = 0; i < p->n; i++)
		if (p->ranges[i].index > index)
			index = p->ranges[i].index;
	return index;
}

static void
merge(struct st_pass *p, uint64_t applied)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		struct st_range r = p->ranges[i];

		if (r.index <= applied)
			r.index = 0;
		if (n && p->ranges[n - 1].index == r.index)
			n--;
		p->ranges[n++] = r;
	}
	p->n = n;
}

bool
st_pass_add(
    struct st_pass *p, struct str upto, uint64_t index, uint64_t applied)
{
	merge(p, applied);
	if (p->n == ST_RANGES_MAX)
		return false;
	p->ranges[p->n++] = (struct st_range){upto, index};
	return true;
}
