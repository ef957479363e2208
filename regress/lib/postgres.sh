# Sourced by test runners, after cluster.sh: a private PostgreSQL 15 under the
# test's directory, ended when the test ends.
#
#   postgres_start NAME [postgres options]   sets PGHOST, PGPORT, PGUSER ...
#   postgres_stop NAME

postgres_bin=/usr/lib/postgresql/15/bin
declare -A postgres_dirs=()

# PostgreSQL refuses to run as root.
postgres_as() {
	if [[ $(id -u) == 0 ]]; then
		runuser -u postgres -- "$@"
	else
		"$@"
	fi
}

postgres_start() {
	local name=$1 dir=$TEST_TMP/$1 port
	shift
	port=$(free_port)
	mkdir -p "$dir"
	if [[ $(id -u) == 0 ]]; then
		chmod 711 "$TEST_TMP"
		chown postgres "$dir"
	fi
	postgres_as $postgres_bin/initdb -D "$dir" -U postgres --locale=C \
		--encoding=UTF8 -A trust >/dev/null || return 1
	postgres_dirs[$name]=$dir
	postgres_as $postgres_bin/pg_ctl -D "$dir" -w -s -l "$dir/log" \
		-o "-p $port -k $dir $*" start || return 1
	export PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres
	export PGDATABASE=postgres PGCONNECT_TIMEOUT=10
	unset PGPASSWORD PGOPTIONS PGAPPNAME
}

postgres_stop() {
	local dir=${postgres_dirs[$1]}
	postgres_as $postgres_bin/pg_ctl -D "$dir" -s -m immediate stop
	unset "postgres_dirs[$1]"
}

postgres_cleanup() {
	local name
	for name in "${!postgres_dirs[@]}"; do
		postgres_stop "$name"
	done
	cluster_cleanup
}
trap postgres_cleanup EXIT
