/* The type registry: one const entry per type, with everything a type can do.
 * A new type is a new entry (and its file), nothing else. */
#ifndef EXPR_TYPE_H
#define EXPR_TYPE_H

#include "cluster/key.h"
#include "expr/val.h"

/* What text forms and now() depend on. The gateway fills it from the session;
 * nodes never need it (only immutable functions travel). */
enum ex_datestyle { EX_ISO, EX_SQL, EX_GERMAN, EX_POSTGRES };
enum ex_dateorder { EX_MDY, EX_DMY, EX_YMD };
enum ex_intervalstyle { EX_IV_POSTGRES, EX_IV_VERBOSE, EX_IV_SQL, EX_IV_ISO };

/* What the functions of sequences ask for. */
enum ex_sequence_op {
	EX_NEXTVAL,
	EX_CURRVAL,
	EX_LASTVAL, /* of no sequence in particular */
	EX_SETVAL,
	EX_RESERVE /* so many NEXTVALs of this statement follow: a hint */
};
struct ex_sequence {
	enum ex_sequence_op op;
	uint32_t id;    /* the sequence's */
	int64_t value;  /* SETVAL, RESERVE: in; the others: out */
	bool is_called; /* SETVAL */
};
/* skaidb.placement_of(): where the row with this key lies. */
struct ex_placement {
	struct str table; /* its name, as regclass reads it */
	const struct val *key;
	uint32_t n;
	struct str json; /* out */
};
struct ex_env {
	enum ex_datestyle datestyle;
	enum ex_dateorder dateorder;
	enum ex_intervalstyle intervalstyle;
	const char *timezone;   /* "UTC", "Europe/Paris", "+02" */
	int extra_float_digits; /* default 1 */
	bool bytea_escape;      /* bytea_output = escape */
	int64_t now_us;         /* transaction start, since 2000-01-01 UTC */
	int64_t statement_us;
	int64_t (*clock_us)(void *arg); /* clock_timestamp() */
	void (*random)(void *arg, void *p, size_t n);
	/* pg_sleep(); NULL where nothing may wait. */
	struct err *(*sleep)(void *arg, double seconds);
	void *arg;
	/* Facts for current_user, current_database() ... */
	struct str user, session_user, database, schema;
	uint32_t backend_pid;
	struct str version; /* version() */
	/* Monotonic time, by which one call that takes very long is ended;
	 * NULL: it runs on. */
	int64_t (*mono_us)(void *arg);
	/* Sequences. May wait; NULL where there are none. */
	struct err *(*sequence)(
	    void *arg, struct arena *a, struct ex_sequence *s);
	/* Tables and sequences by the name that regclass reads (42P01), and the
	 * name that it shows, empty for none. NULL: regclass is a number. */
	struct err *(*relation_id)(
	    void *arg, struct arena *a, struct str name, uint32_t *id);
	struct str (*relation_name)(void *arg, struct arena *a, uint32_t id);
	/* pg_get_serial_sequence(): *name is empty when there is none. */
	struct err *(*serial)(void *arg, struct arena *a, struct str table,
	    struct str column, struct str *name);
	/* NULL: there are no tables. */
	struct err *(*placement)(
	    void *arg, struct arena *a, struct ex_placement *p);
};
/* UTC, ISO MDY, postgres intervals: what is used where there is no session. */
extern const struct ex_env ex_env_default;

/* Type categories decide implicit casts and preferred types, as in pg_type. */
struct ex_type {
	uint32_t oid;
	const char *name;     /* "int4": pg_type.typname */
	const char *sql_name; /* "integer": format_type */
	int16_t len;          /* typlen; -1 variable */
	char category;        /* 'N', 'S', 'B', 'D', 'T', 'U', 'X' */
	bool preferred;
	uint32_t array;  /* OID of its array type, for pg_type */
	enum cl_tag tag; /* in rows and open tables' keys */

	/* Text form to value and back. typmod -1 = none; in() applies it as an
	 * explicit cast of a literal does. */
	struct err *(*in)(struct arena *a, const struct ex_env *env,
	    struct str text, int32_t typmod, struct val *out);
	void (*out)(struct buf *b, const struct ex_env *env, struct val v);
	/* Binary wire form. */
	struct err *(*recv)(
	    struct arena *a, struct str bytes, int32_t typmod, struct val *out);
	void (*send)(struct buf *b, struct val v);
	/* SQL order, for non-null values of this type; NULL when the type has
	 * none (json). */
	int (*cmp)(struct val x, struct val y);
	/* Coerces to typmod (varchar(n), numeric(p,s), timestamp(p)); NULL
	 * when the type takes none. is_explicit: a cast truncates where an
	 * assignment refuses. */
	struct err *(*apply_typmod)(struct arena *a, struct val v,
	    int32_t typmod, bool is_explicit, struct val *out);
	/* Key column: body via cluster/key.h; key_dec gives back what the key
	 * can reproduce, and key_exact says whether that is the whole value
	 * (numeric loses its scale: it is stored in the row value too). */
	void (*key_enc)(struct buf *b, enum cl_tag tag, struct cl_key_order o,
	    struct val v);
	bool (*key_dec)(struct cur *c, struct cl_key_order o, struct arena *a,
	    struct val *v);
	bool key_exact;
	/* Row column bytes; row_dec false on malformed bytes. */
	void (*row_enc)(struct buf *b, struct val v);
	bool (*row_dec)(struct arena *a, struct str bytes, struct val *v);
};

/* NULL for an unknown OID. */
const struct ex_type *ex_type(uint32_t oid);
/* By typname or SQL spelling in lower case ("int4", "integer", "character
 * varying", "timestamp with time zone"); NULL if none. */
const struct ex_type *ex_type_by_name(struct str name);
/* The n-th type, for pg_type; NULL past the end. */
const struct ex_type *ex_type_at(size_t n);
/* Type OID that a row tag or an open key's tag stands for (INT is int8...). */
uint32_t ex_type_of_tag(enum cl_tag tag);
/* "numeric(10,2)", "character varying(3)": format_type. */
char *ex_type_format(struct arena *a, uint32_t oid, int32_t typmod);
/* The typmod of (args...) as written in a type name; 22023 on bad ones. */
struct err *ex_typmod_in(struct arena *a, const struct ex_type *t,
    const int32_t *args, size_t n, int32_t *out);

/* NULL-aware wrappers. A NULL writes nothing here: the caller frames it. */
struct err *ex_in(struct arena *a, const struct ex_env *env, uint32_t type,
    int32_t typmod, struct str text, struct val *out);
void ex_out(struct buf *b, const struct ex_env *env, struct val v);
struct err *ex_recv(struct arena *a, uint32_t type, int32_t typmod,
    struct str bytes, struct val *out);
void ex_send(struct buf *b, struct val v);

/* Key columns with markers, NULL included. `tag` CL_TAG_NONE for declared
 * tables. */
void ex_key_put(
    struct buf *b, enum cl_tag tag, struct cl_key_order o, struct val v);
/* Reads one column of the given type (declared) or of the tag found (open:
 * type 0); false on malformed bytes. */
bool ex_key_get(struct cur *c, struct cl_key_order o, struct arena *a,
    uint32_t type, struct val *v);

#endif
