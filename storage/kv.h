/* What an engine implements behind base/engine.h's kv_ calls.  Two engines may
 * be linked into one program, so a transaction and a cursor each carry their
 * operations. */
#ifndef STORAGE_KV_H
#define STORAGE_KV_H

#include "base/engine.h"

struct kv_ops {
	bool (*get)(
	    struct kv *kv, enum kv_file f, struct str key, struct str *val);
	void (*put)(
	    struct kv *kv, enum kv_file f, struct str key, struct str val);
	void (*del)(struct kv *kv, enum kv_file f, struct str key);
	void (*del_range)(
	    struct kv *kv, enum kv_file f, struct str from, struct str to);
	struct kv_cur *(*open)(struct kv *kv, enum kv_file f);
	bool (*seek)(
	    struct kv_cur *c, struct str key, struct str *k, struct str *v);
	bool (*seek_before)(
	    struct kv_cur *c, struct str key, struct str *k, struct str *v);
	bool (*next)(struct kv_cur *c, struct str *k, struct str *v);
	void (*close)(struct kv_cur *c);
};

/* Embedded at the start of an engine's own structs. */
struct kv {
	const struct kv_ops *ops;
	bool aborted;
	bool failed;
};

struct kv_cur {
	const struct kv_ops *ops;
};

#endif
