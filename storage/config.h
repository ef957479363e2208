/* Who belongs to a group.  A data group's members are those of its epoch in the
 * catalog's slot map and never change.  The catalog group's voters are in the
 * catalog itself, as placement 0: the entry that writes it is Raft's
 * single-server change and counts from its append (CONSENSUS 6; Ongaro 4.1). */
#ifndef STORAGE_CONFIG_H
#define STORAGE_CONFIG_H

#include "storage/group.h"

#define ST_CATALOG_VOTERS_MAX 5u

extern const struct st_gid st_catalog_gid;

/* The group was loaded: its members, by the catalog and its own log. */
void st_config_load(struct st_group *g);
/* An entry became the newest, or entries were cut off. */
void st_config_appended(struct st_group *g, const struct st_entry *e);
void st_config_cut(struct st_group *g);

/* In a fiber of the catalog's leader: takes in one more voter, or does nothing
 * when there are enough, or one is not caught up yet. */
void st_config_grow(struct st_node *n);

#endif
