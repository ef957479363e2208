#include "gateway/facts.h"

#include "expr/func.h"
#include "gateway/t/bench_world.h"
#include "gateway/virtual.h"
#include "regress/lib/cu.h"
#include "sql/sql.h"

static void
all_members_tell_body(struct bench *b)
{
	struct gw_member_info *infos;
	struct cl_member_seen seen;
	uint32_t n;

	gw_facts_infos(
	    b->worker, b->arena, gw_facts_deadline(&b->stmt), &infos, &n);
	MUST(n == 3);
	for (uint32_t i = 0; i < n; i++) {
		CHECK(infos[i].member == i + 1);
		MUST(infos[i].info != NULL);
		CHECK(infos[i].info->leading == i + 1);
	}
	/* The farthest behind that anybody knows it to be. */
	gw_facts_seen(infos, n, 2, &seen);
	CHECK(seen.lag == 302 && seen.lag_us == 2000000);
	CHECK(seen.follows == 2 && seen.heard_us == 0);
}

static void
all_members_tell_what_they_know(void)
{
	bench_copies(3, 3, NULL, all_members_tell_body);
}

static void
deaf_member_body(struct bench *b)
{
	struct gw_member_info *infos;
	struct cl_member_seen seen;
	uint64_t until = world_mono_us(b->world) + 3000000;
	uint32_t n;

	b->store.nodes[2]->deaf = true;
	gw_facts_infos(
	    b->worker, b->arena, gw_facts_deadline(&b->stmt), &infos, &n);
	CHECK(world_mono_us(b->world) < until);
	MUST(n == 3);
	CHECK(infos[0].info && infos[1].info && !infos[2].info);
	gw_facts_seen(infos, n, 3, &seen);
	CHECK(seen.lag == 203 && seen.heard_us == 1000);
	gw_facts_seen(infos, n, 1, &seen);
	CHECK(seen.lag == 201 && seen.heard_us == 0);
}

static void
a_deaf_member_is_known_by_what_others_say(void)
{
	bench_copies(3, 3, NULL, deaf_member_body);
}

/* ---- skaidb.groups ---- */

static struct val *
first_row(struct bench *b, const char *query)
{
	struct sql_env env = {.catalog = gw_catalog_now(b->worker->catalog),
	    .database = CL_DB_POSTGRES,
	    .virtuals = gw_virtuals,
	    .n_virtuals = gw_n_virtuals,
	    .ex = &ex_env_default};
	struct sql_source *src = gw_source_new(b->arena, &b->stmt);
	struct sql_prepared *p;
	struct sql_cursor *c;
	struct sql_stmt *stmts;
	struct val *vals;
	size_t n;

	MUST(!sql_parse(b->arena, str_c(query), &stmts, &n) && n == 1);
	MUST(!sql_prepare(b->arena, &env, stmts, NULL, 0, &p));
	MUST(!sql_open(b->arena, &env, p, NULL, 0, src, &c));
	MUST(!sql_next(c, b->arena, &vals) && vals);
	return vals;
}

static void
groups_body(struct bench *b)
{
	struct val *v;

	bench_table(b);
	bench_stmt(b, 5000000);
	v = first_row(b, "SELECT count(*), count(leader), min(epoch), "
			 "min(round), max(last_index), min(commit_index), "
			 "sum(lag), sum(incomplete), max(age_ms) "
			 "FROM skaidb.groups WHERE placement = 1");
	CHECK(v[0].u.i == FAKE_SLOTS && v[1].u.i == FAKE_SLOTS);
	CHECK(v[2].u.i == 1 && v[3].u.i == 7 && v[4].u.i == 20);
	CHECK(v[5].u.i == 19 && v[8].u.i == 5);
	/* Of a slot whose leader does not answer, the members are known. */
	b->store.led_by[2] = 3;
	b->store.nodes[2]->deaf = true;
	v = first_row(b, "SELECT slot, leader, members, lag, epoch FROM "
			 "skaidb.groups WHERE placement = 1 AND leader IS NULL "
			 "ORDER BY slot LIMIT 1");
	CHECK(v[0].u.i <= 2 && v[1].null && !v[2].null && v[3].null);
	CHECK(v[2].u.s.len == 5 && v[4].u.i == 1);
}

static void
groups_are_a_relation_whoever_leads_them(void)
{
	bench_copies(3, 3, NULL, groups_body);
}

CU_MAIN("facts",
    {"all_members_tell_what_they_know", all_members_tell_what_they_know},
    {"a_deaf_member_is_known_by_what_others_say",
	a_deaf_member_is_known_by_what_others_say},
    {"groups_are_a_relation_whoever_leads_them",
	groups_are_a_relation_whoever_leads_them})
