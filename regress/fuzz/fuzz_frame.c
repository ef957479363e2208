/* A frame and the message in it. What is accepted must encode to the same
 * bytes: one meaning, one form. */
#include "cluster/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
round_trip(struct arena *a, uint16_t kind, struct str body)
{
	struct buf b;
	void *msg;

	if (cl_msg_decode(a, kind, body, &msg))
		return;
	buf_init(&b, a);
	cl_msg_encode(&b, (enum cl_msg_kind)kind, msg);
	ASSERT(str_eq(buf_view(&b), body));
	ASSERT(cl_msg_size((enum cl_msg_kind)kind, msg) == body.len);
	cl_msg_print(&b, kind, msg);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new(NULL, "fuzz");
	struct str bytes = str_of(data, size);
	struct cl_frame f;

	if (!cl_frame_read(a, bytes, &f))
		round_trip(a, f.kind, f.body);
	/* The checksum keeps a fuzzer from the bodies: two bytes of kind and
	 * a bare body as well. */
	if (size >= 2)
		round_trip(
		    a, (uint16_t)(data[0] | data[1] << 8), str_skip(bytes, 2));
	arena_free(a);
	return 0;
}
