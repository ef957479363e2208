#include "base/net.h"

struct err *
net_connect(struct world *w, struct arena *a, const char *addr,
    const struct net_events *ev, void *owner, struct net_conn **out)
{
	*out = NULL;
	ASSERT(ev->opened && ev->frame && ev->closed);
	return w->ops->net_connect(w, a, addr, ev, owner, out);
}

struct err *
net_listen(struct world *w, struct arena *a, const char *addr,
    void (*accept_ev)(void *owner, struct net_conn *c), void *owner,
    struct net_listener **out)
{
	*out = NULL;
	ASSERT(accept_ev);
	return w->ops->net_listen(w, a, addr, accept_ev, owner, out);
}

void
net_unlisten(struct world *w, struct net_listener *l)
{
	w->ops->net_unlisten(l);
}

void
net_adopt(struct world *w, struct net_conn *c, const struct net_events *ev,
    void *owner)
{
	ASSERT(ev->frame && ev->closed);
	w->ops->net_adopt(c, ev, owner);
}

void
net_send(struct world *w, struct net_conn *c, struct str frame)
{
	ASSERT(frame.len >= NET_FRAME_MIN && frame.len <= NET_FRAME_MAX);
	w->ops->net_send(c, frame);
}

size_t
net_backlog(struct world *w, const struct net_conn *c)
{
	return w->ops->net_backlog(c);
}

void
net_pause(struct world *w, struct net_conn *c, bool paused)
{
	w->ops->net_pause(c, paused);
}

void
net_close(struct world *w, struct net_conn *c)
{
	w->ops->net_close(c);
}

const char *
net_peer(struct world *w, const struct net_conn *c)
{
	return w->ops->net_peer(c);
}
