#include "storage/resync.h"

#include "base/log.h"

void
st_resync_want(struct st_group *g)
{
	LOG(g->node->world, LOG_WARN, "resync", "wanted",
	    "placement=%u slot=%u applied=%llu", g->gid.placement, g->gid.slot,
	    (unsigned long long)g->applied);
}
