#!/usr/bin/env bash
# psql: what people type.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/claims.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# q ARGS...: psql without settings of the user, tuples only.
q() {
	# That rows of several groups are not one transaction is said elsewhere.
	PGOPTIONS='-c client_min_messages=error' \
		psql -X -A -t -q -v ON_ERROR_STOP=1 "$@" 2>&1
}

claim_a_plain_psql_connects_as_the_invoking_user() {
	[[ -n ${CLIENTS_ORACLE:-} ]] && return # has no such role
	local me
	me=$(id -un)
	same "$(env -u PGUSER -u PGDATABASE psql -X -A -t \
		-c "select current_user, current_database()" 2>&1)" "$me|$me"
}

claim_a_table_is_created_filled_and_queried() {
	same "$(q <<-'S'
		drop table if exists p_t;
		create table p_t (id bigint primary key, t text not null, n numeric default 0);
		insert into p_t (id, t) values (1, 'ann'), (2, 'bob') returning *;
		update p_t set n = n + 2.50 where id = 1;
		delete from p_t where id = 2;
		select t, n from p_t order by t;
		drop table p_t;
	S
	)" "1|ann|0
2|bob|0
ann|2.50"
}

claim_gdesc_tells_columns_without_running() {
	same "$(q <<-'S'
		select 1 as a, 'x'::varchar(3) as b, 1.5::numeric(4,1) as c \gdesc
	S
	)" "a|integer
b|character varying(3)
c|numeric(4,1)"
}

claim_copy_reads_and_writes_files() {
	printf '1,one\n2,"two, and ""more"""\n' >"$dir/in.csv"
	same "$(q <<-S
		drop table if exists p_c;
		create table p_c (id int primary key, t text);
		\copy p_c from '$dir/in.csv' csv
		\copy p_c to '$dir/out.csv' csv header
		\copy p_c to '$dir/out.txt'
	S
	)" ''
	same "$(sort -r "$dir/out.csv")" "id,t
$(sort -r "$dir/in.csv")"
	same "$(sort "$dir/out.txt")" "$(printf '1\tone\n2\ttwo, and "more"')"
	q -c 'drop table p_c'
}

claim_gset_gexec_prepare_and_variables_work() {
	same "$(q -v v="it's" <<-'S'
		select :'v' as it, 7 as seven \gset
		\echo :it :seven
		prepare plus (int, int) as select $1 + $2;
		execute plus (3, 4);
		select 'select ' || x from (values (1), (2)) as t (x) order by x \gexec
	S
	)" "it's 7
7
1
2"
}

claim_errors_show_their_position() {
	holds "$(q -c 'select 1 +* nothing')" $'ERROR:*LINE 1: select 1 +\* nothing\n *^*'
	holds "$(q -v VERBOSITY=verbose -c 'select nothing')" 'ERROR:  42703:*'
}

claim_notices_are_shown() {
	same "$(psql -X -q -c 'drop table if exists never_there' 2>&1)" \
		'NOTICE:  table "never_there" does not exist, skipping'
}

claim_on_error_stop_gives_an_exit_status() {
	local status=0
	q -c 'select 1/0' >"$dir/out" || status=$?
	same "$status" 1
	same "$(cat "$dir/out")" 'ERROR:  division by zero'
}

claim_conninfo_and_encoding_are_known() {
	holds "$(q -c '\conninfo')" 'You are connected to database "*" as user "*" on host "*" *at port "*'
	same "$(q -c '\encoding')" UTF8
}

claim_a_long_result_comes_back_whole() {
	q -c 'drop table if exists p_l' -c 'create table p_l (id int primary key)' \
		>/dev/null
	seq 1 2500 | q -c 'copy p_l from stdin'
	same "$(q -c 'select id from p_l order by id' | md5sum)" \
		"$(seq 1 2500 | md5sum)"
	q -c 'drop table p_l'
}

claims_main "${1:-}"
