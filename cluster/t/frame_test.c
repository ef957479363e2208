#include "cluster/msg.h"
#include "cluster/t/vec.h"

static struct buf
sample(void)
{
	struct cl_frame f = {.kind = 20,
	    .flags = CL_FLAG_REPLY,
	    .request = 0x0102030405060708,
	    .catalog = 9,
	    .slots = 10,
	    .stamp = 0x1112131415161718};
	struct buf b;

	buf_init(&b, vec_arena());
	cl_frame_begin(&b, &f);
	buf_str(&b, STR("body"));
	cl_frame_end(&b);
	return b;
}

static void
frame_has_its_vector(void)
{
	struct buf b = sample();

	GOLDEN(&b, "34000000 1400 02 01 0807060504030201 0900000000000000"
		   "0a00000000000000 1817161514131211 626f6479"
		   "f684274e1ebdc7c5");
}

static void
a_frame_comes_back(void)
{
	struct buf b = sample();
	struct cl_frame f;
	struct err *e = cl_frame_read(b.arena, buf_view(&b), &f);

	MUST(!e);
	CHECK(f.kind == 20 && f.flags == CL_FLAG_REPLY);
	CHECK(f.request == 0x0102030405060708 && f.catalog == 9);
	CHECK(f.slots == 10 && f.stamp == 0x1112131415161718);
	CHECK(str_eq(f.body, STR("body")));
	CHECK((const uint8_t *)f.body.p == b.p + CL_FRAME_HEADER);
}

static void
an_empty_body_is_fine(void)
{
	struct cl_frame f = {.kind = 1};
	struct buf b;

	buf_init(&b, vec_arena());
	cl_frame_begin(&b, &f);
	cl_frame_end(&b);
	CHECK(b.len == CL_FRAME_HEADER + CL_FRAME_TRAILER);
	MUST(!cl_frame_read(b.arena, buf_view(&b), &f));
	CHECK(f.kind == 1 && !f.body.len);
}

/* Makes the checksum right again after a change. */
static struct err *
resealed(struct buf *b, struct cl_frame *f)
{
	b->len -= CL_FRAME_TRAILER;
	cl_frame_end(b);
	return cl_frame_read(b->arena, buf_view(b), f);
}

static void
another_format_is_named(void)
{
	struct buf b = sample();
	struct cl_frame f;
	struct err *e;

	b.p[6] = 1;
	e = resealed(&b, &f);
	MUST(e != NULL);
	CHECK(err_is(e, ERRCODE_PROTOCOL_VIOLATION));
	CHECK_STR(
	    e->message, "frame of format 1, this program speaks format 2");
}

static void
unknown_flags_are_refused(void)
{
	struct buf b = sample();
	struct cl_frame f;

	b.p[7] = 3;
	CHECK(resealed(&b, &f) != NULL);
	b.p[7] = 0;
	CHECK(resealed(&b, &f) == NULL);
}

static void
every_flipped_bit_is_seen(void)
{
	struct buf b = sample();
	struct cl_frame f;

	for (size_t i = 0; i < b.len * 8; i++) {
		b.p[i / 8] ^= (uint8_t)(1u << i % 8);
		CHECK(cl_frame_read(b.arena, buf_view(&b), &f) != NULL);
		b.p[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	CHECK(cl_frame_read(b.arena, buf_view(&b), &f) == NULL);
}

static void
read_anything(struct str bytes)
{
	struct arena *a = arena_new(NULL, "hostile");
	struct cl_frame f;

	if (!cl_frame_read(a, bytes, &f))
		CHECK(f.body.len + 48 == bytes.len);
	arena_free(a);
}

static void
hostile_frames_are_refused_without_harm(void)
{
	struct buf b = sample();

	vec_hostile(buf_view(&b), read_anything);
}

CU_MAIN("frame", {"frame_has_its_vector", frame_has_its_vector},
    {"a_frame_comes_back", a_frame_comes_back},
    {"an_empty_body_is_fine", an_empty_body_is_fine},
    {"another_format_is_named", another_format_is_named},
    {"unknown_flags_are_refused", unknown_flags_are_refused},
    {"every_flipped_bit_is_seen", every_flipped_bit_is_seen},
    {"hostile_frames_are_refused_without_harm",
	hostile_frames_are_refused_without_harm})
