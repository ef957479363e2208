/* Catalog objects: the first byte is the kind. What is accepted must encode to
 * the same bytes, and go into a snapshot. */
#include "cluster/catalog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
into_snapshot(const struct cl_object *o)
{
	const struct cl_object *v[] = {o};
	struct cl_catalog *none = cl_catalog_new();
	struct cl_catalog *c = cl_catalog_apply(none, 1, v, 1);
	uint32_t parent;
	struct str name;

	ASSERT(cl_find(c, o->kind, o->id));
	if (cl_object_name(o, &parent, &name))
		ASSERT(cl_find_name(c, o->kind, parent, name));
	cl_catalog_unref(c);
	cl_catalog_unref(none);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new(NULL, "fuzz");
	struct cl_object o = {.version = 1};
	struct str bytes = size ? str_of(data + 1, size - 1) : STR_NONE;
	struct buf b;

	if (size && !cl_object_decode(a, data[0], 7, bytes, &o)) {
		buf_init(&b, a);
		cl_object_encode(&b, &o);
		ASSERT(str_eq(buf_view(&b), bytes));
		into_snapshot(&o);
	}
	if (size)
		(void)cl_object_row_read(a, str_of(data, size / 2),
		    str_of(data + size / 2, size - size / 2), &o);
	arena_free(a);
	return 0;
}
