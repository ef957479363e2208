/* Intrusive doubly linked lists.  A head points to itself when empty; a node
 * out of any list has next NULL. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include "base/err.h"

struct list {
	struct list *next;
	struct list *prev;
};

static inline void
list_init(struct list *head)
{
	head->next = head->prev = head;
}

static inline bool
list_empty(const struct list *head)
{
	return head->next == head;
}

static inline bool
list_linked(const struct list *node)
{
	return node->next != NULL;
}

static inline void
list_push(struct list *head, struct list *node)
{
	ASSERT(!list_linked(node));
	node->next = head;
	node->prev = head->prev;
	head->prev->next = node;
	head->prev = node;
}

static inline void
list_del(struct list *node)
{
	if (!node->next)
		return;
	node->next->prev = node->prev;
	node->prev->next = node->next;
	node->next = node->prev = NULL;
}

static inline struct list *
list_pop(struct list *head)
{
	struct list *n = head->next;

	if (n == head)
		return NULL;
	list_del(n);
	return n;
}

#define LIST_ENTRY(ptr, type, member) CONTAINER(ptr, type, member)
#define LIST_FOREACH(var, head)                                                \
	for (struct list *var = (head)->next; var != (head); var = var->next)
/* Safe against unlinking `var`. */
#define LIST_FOREACH_SAFE(var, head)                                           \
	for (struct list *var = (head)->next, *var##_n = var->next;            \
	     var != (head); var = var##_n, var##_n = var->next)

#endif
