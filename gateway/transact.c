#include "gateway/transact.h"

#include "gateway/worker.h"

/* ---- the message ---- */

static void
make_message(struct arena *a, const struct gw_transact *c, struct cl_commit *m)
{
	m->parts = NEW_N(a, struct cl_part_head, c->n_parts);
	m->n_parts = c->n_parts;
	for (uint32_t i = 0; i < c->n_parts; i++) {
		m->n_conds += c->parts[i].n_conds;
		m->n_writes += c->parts[i].n_writes;
	}
	m->conds = NEW_N(a, struct cl_cond, m->n_conds + 1);
	m->writes = NEW_N(a, struct cl_write, m->n_writes + 1);
	m->n_conds = m->n_writes = 0;
	for (uint32_t i = 0; i < c->n_parts; i++) {
		const struct gw_transact_part *p = &c->parts[i];

		m->parts[i] = (struct cl_part_head){
		    p->placement, p->slot, 0, p->n_conds, p->n_writes};
		for (uint32_t k = 0; k < p->n_conds; k++)
			m->conds[m->n_conds++] = p->conds[k];
		for (uint32_t k = 0; k < p->n_writes; k++)
			m->writes[m->n_writes++] = p->writes[k];
	}
}

static size_t
size_of(const struct cl_commit *m)
{
	return cl_msg_size(CL_MSG_COMMIT, m) + 64; /* its ids come later */
}

bool
gw_transact_fits(struct arena *a, const struct gw_transact *c)
{
	struct cl_commit m = {.n_parts = 0};

	make_message(a, c, &m);
	return m.n_parts <= CL_PARTS_MAX && m.n_conds <= CL_CONDS_MAX &&
	       m.n_writes <= CL_WRITES_MAX && size_of(&m) <= CL_BODY_MAX;
}

void
gw_transact_run(struct gw_stmt *s, struct arena *a, struct gw_transact *c)
{
	struct cl_commit m = {.age = c->age};
	struct gw_proposal p = {
	    .commit = &m, .unknown_sqlstate = c->unknown_sqlstate};

	ASSERT(c->n_parts);
	make_message(a, c, &m);
	c->answer = NULL;
	c->err = NULL;
	if (size_of(&m) > CL_BODY_MAX) {
		c->outcome = GW_END_FAILED;
		c->err = ERR(a, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
		    "a transaction over several slots of %zu bytes is too "
		    "large",
		    size_of(&m));
		return;
	}
	p.msg.placement = m.parts[0].placement;
	p.msg.slot = m.parts[0].slot;
	p.msg.conds = m.conds;
	p.msg.n_conds = m.n_conds;
	gw_propose_run(s, a, &p, 1);
	c->outcome = p.outcome;
	c->answer = p.answer;
	c->err = p.err;
}
