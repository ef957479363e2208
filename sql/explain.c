/* EXPLAIN: the tree of nodes as lines of text. */
#include "sql/exec_int.h"

struct explain {
	struct sql_node node;
	struct sql_node *root;
	struct buf text;
	size_t at;
	struct val line;
	bool done;
};

static void
indent(struct buf *b, int depth, bool arrow)
{
	int blanks = depth == 0 ? (arrow ? 0 : 2)
		     : arrow    ? 6 * depth - 4
				: 6 * depth + 2;

	for (int i = 0; i < blanks; i++)
		buf_u8(b, ' ');
	if (arrow && depth > 0)
		buf_str(b, STR("->  "));
}

/* Nodes without a title show through. */
static void
show(struct buf *b, const struct sql_node *n, int depth, bool analyze)
{
	if (!n)
		return;
	if (n->title) {
		indent(b, depth, true);
		buf_str(b, str_c(n->title));
		if (analyze)
			buf_printf(b, " (actual rows=%llu)",
			    (unsigned long long)n->rows);
		buf_u8(b, '\n');
		for (const struct sql_prop *p = n->props; p; p = p->next) {
			indent(b, depth, false);
			buf_printf(b, "%s: %s\n", p->name, p->text);
		}
		depth++;
	}
	show(b, n->left, depth, analyze);
	show(b, n->right, depth, analyze);
}

static struct err *
make(struct explain *e)
{
	struct sql_exec *x = e->node.x;
	struct val *row;

	if (x->plan->analyze)
		do
			TRY(sql_pull(e->root, &row));
		while (row);
	buf_init(&e->text, x->arena);
	show(&e->text, e->root, 0, x->plan->analyze);
	e->done = true;
	return NULL;
}

static struct err *
explain_next(struct sql_node *n, struct val **row)
{
	struct explain *e = (struct explain *)(void *)n;
	const char *line, *end;

	*row = NULL;
	if (!e->done)
		TRY(make(e));
	if (e->at == e->text.len)
		return NULL;
	line = (const char *)e->text.p + e->at;
	end = memchr(line, '\n', e->text.len - e->at);
	ASSERT(end != NULL);
	e->line = val_str(EX_TEXT, str_of(line, (size_t)(end - line)));
	e->at += (size_t)(end - line) + 1;
	*row = &e->line;
	return NULL;
}

struct err *
sql_explain_node(struct sql_exec *x, struct sql_node **out)
{
	struct explain *e = sql_node_new(x, sizeof *e, NULL, explain_next);

	*out = &e->node;
	return sql_plan_root(x, &e->root);
}
