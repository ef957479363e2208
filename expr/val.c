#include "expr/val.h"

static bool
has_bytes(uint32_t type)
{
	switch (type) {
	case EX_BOOL:
	case EX_INT2:
	case EX_INT4:
	case EX_INT8:
	case EX_OID:
	case EX_REGCLASS:
	case EX_FLOAT4:
	case EX_FLOAT8:
	case EX_DATE:
	case EX_TIME:
	case EX_TIMESTAMP:
	case EX_TIMESTAMPTZ:
	case EX_INTERVAL:
	case EX_VOID:
		return false;
	default:
		return true;
	}
}

struct val
val_copy(struct arena *a, struct val v)
{
	if (!v.null && has_bytes(v.type))
		v.u.s = arena_str(a, v.u.s);
	return v;
}
