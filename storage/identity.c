#include "storage/identity.h"

#include "storage/record.h"

#define FORMAT 1u

void
st_identity_put(struct buf *b, const struct st_identity *id)
{
	buf_u8(b, FORMAT);
	buf_put(b, id->cluster, sizeof id->cluster);
	buf_le32(b, id->member);
	buf_le32(b, id->incarnation);
	buf_u8(b, id->founder);
}

bool
st_identity_get(struct str bytes, struct st_identity *id)
{
	struct cur c = cur_of(bytes);
	unsigned format = cur_u8(&c);
	struct str cluster = cur_bytes(&c, sizeof id->cluster);

	memset(id, 0, sizeof *id);
	if (!cur_ok(&c) || format != FORMAT)
		return false;
	memcpy(id->cluster, cluster.p, sizeof id->cluster);
	id->member = cur_le32(&c);
	id->incarnation = cur_le32(&c);
	id->founder = cur_u8(&c) != 0;
	id->known = true;
	return cur_done(&c) && id->member != 0;
}

struct err *
st_identity_load(struct st_node *n, struct arena *a)
{
	struct str bytes;

	memset(&n->id, 0, sizeof n->id);
	if (!st_record_get(n, STR("I"), a, &bytes))
		return NULL;
	if (st_identity_get(bytes, &n->id))
		return NULL;
	n->id.known = false;
	if (bytes.len && (uint8_t)bytes.p[0] > FORMAT)
		return ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "the node's identity has format %u, this build reads "
		    "format %u",
		    (unsigned)(uint8_t)bytes.p[0], FORMAT);
	return ERR(a, ERRCODE_DATA_CORRUPTED,
	    "the node's identity record is malformed");
}

struct err *
st_identity_save(struct st_node *n, struct arena *a)
{
	struct buf b;

	buf_init(&b, a);
	st_identity_put(&b, &n->id);
	if (st_record_put(n, STR("I"), buf_view(&b)) != ENGINE_OK)
		return ERR(
		    a, ERRCODE_DISK_FULL, "the data directory's disk is full");
	return NULL;
}

struct str
st_addrs_load(struct st_node *n)
{
	struct str v;

	return st_record_get(n, STR("A"), n->arena, &v) ? v : STR_NONE;
}

void
st_addrs_save(struct st_node *n, struct str addrs)
{
	/* Only a help for the next start: a full disk does not matter. */
	st_record_put(n, STR("A"), addrs);
}
