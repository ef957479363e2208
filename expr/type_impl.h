/* Inside the type files: the entries, and what they share. */
#ifndef EXPR_TYPE_IMPL_H
#define EXPR_TYPE_IMPL_H

#include "expr/type.h"

extern const struct ex_type ex_type_def_bool, ex_type_def_int2,
    ex_type_def_int4, ex_type_def_int8, ex_type_def_oid, ex_type_def_float4,
    ex_type_def_float8, ex_type_def_numeric, ex_type_def_text,
    ex_type_def_varchar, ex_type_def_bpchar, ex_type_def_name, ex_type_def_char,
    ex_type_def_bytea, ex_type_def_uuid, ex_type_def_date, ex_type_def_time,
    ex_type_def_timestamp, ex_type_def_timestamptz, ex_type_def_interval,
    ex_type_def_json, ex_type_def_jsonb, ex_type_def_unknown,
    ex_type_def_record, ex_type_def_void, ex_type_def_regclass;

/* 22P02 'invalid input syntax for type integer: "abc"'. */
struct err *ex_bad_text(
    struct arena *a, const char *type, struct str text) MUST_USE;
/* 22003 'value "99999" is out of range for type smallint'. */
struct err *ex_bad_range(
    struct arena *a, const char *type, struct str text) MUST_USE;
/* After reading a binary form: 08P01 when it was too short, 22P03 when bytes
 * are left, else NULL. */
struct err *ex_recv_end(struct arena *a, const struct cur *c) MUST_USE;
/* 22021 unless well-formed UTF-8 without NUL. */
struct err *ex_check_utf8(struct arena *a, struct str s) MUST_USE;
/* Without ASCII white space at either end. */
struct str ex_trim(struct str s);

uint64_t ex_zigzag(int64_t v);
int64_t ex_unzigzag(uint64_t v);

/* Entries of types whose value is bytes, ordered as bytes. */
int ex_cmp_bytes(struct val x, struct val y);
void ex_key_enc_bytes(
    struct buf *b, enum cl_tag tag, struct cl_key_order o, struct val v);
bool ex_key_dec_bytes(
    struct cur *c, struct cl_key_order o, struct arena *a, struct val *v);
void ex_row_enc_bytes(struct buf *b, struct val v);
bool ex_row_dec_bytes(struct arena *a, struct str bytes, struct val *v);
void ex_send_bytes(struct buf *b, struct val v);
void ex_out_bytes(struct buf *b, const struct ex_env *env, struct val v);

/* Entries of types whose value is u.i, ordered as integers. */
int ex_cmp_int(struct val x, struct val y);
void ex_key_enc_int(
    struct buf *b, enum cl_tag tag, struct cl_key_order o, struct val v);
bool ex_key_dec_int(
    struct cur *c, struct cl_key_order o, struct arena *a, struct val *v);
void ex_send_be64(struct buf *b, struct val v);

#endif
