#include "storage/kv.h"

bool
kv_get(struct kv *kv, enum kv_file f, struct str key, struct str *val)
{
	ASSERT(f < KV_FILES && key.len > 0);
	*val = STR_NONE;
	return kv->ops->get(kv, f, key, val);
}

void
kv_put(struct kv *kv, enum kv_file f, struct str key, struct str val)
{
	ASSERT(f < KV_FILES && key.len > 0);
	kv->ops->put(kv, f, key, val);
}

void
kv_del(struct kv *kv, enum kv_file f, struct str key)
{
	ASSERT(f < KV_FILES && key.len > 0);
	kv->ops->del(kv, f, key);
}

void
kv_del_range(struct kv *kv, enum kv_file f, struct str from, struct str to)
{
	ASSERT(f < KV_FILES && from.len > 0 && to.len > 0);
	if (str_cmp(from, to) < 0)
		kv->ops->del_range(kv, f, from, to);
}

struct kv_cur *
kv_open(struct kv *kv, enum kv_file f)
{
	ASSERT(f < KV_FILES);
	return kv->ops->open(kv, f);
}

bool
kv_seek(struct kv_cur *c, struct str key, struct str *k, struct str *v)
{
	return c->ops->seek(c, key, k, v);
}

bool
kv_seek_before(struct kv_cur *c, struct str key, struct str *k, struct str *v)
{
	return c->ops->seek_before(c, key, k, v);
}

bool
kv_next(struct kv_cur *c, struct str *k, struct str *v)
{
	return c->ops->next(c, k, v);
}

void
kv_close(struct kv_cur *c)
{
	c->ops->close(c);
}

void
kv_abort(struct kv *kv)
{
	kv->aborted = true;
}

bool
kv_failed(const struct kv *kv)
{
	return kv->failed;
}
