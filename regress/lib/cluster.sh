# Sourced by test runners: clusters of real processes under a directory of the
# test's own, on ports of its own, ended when the test ends.
#
#   cluster_start NAME [contrib/start options]   sets PGHOST, PGPORT, PGUSER ...
#   cluster_stop NAME
#   wait_for SECONDS COMMAND...                  polls until it succeeds

: "${TEST_TMP:=$(mktemp -d "${TMPDIR:-/tmp}/skaidb-test.XXXXXX")}"
export TEST_TMP
cluster_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
declare -A cluster_dirs=()

wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[[ $SECONDS -ge $end ]] && return 1
		read -rt 0.05 <> <(:) || true
	done
}

# A block of ports that nobody listens on.
free_port() {
	python3 - <<'P'
import random, socket
while True:
    base = random.randrange(20000, 30000, 20)
    try:
        for p in range(base, base + 20):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(("127.0.0.1", p))
            s.close()
        print(base)
        break
    except OSError:
        pass
P
}

cluster_start() {
	local name=$1 dir=$TEST_TMP/$1 port
	shift
	port=$(free_port)
	cluster_dirs[$name]=$dir
	"$cluster_top/contrib/start" --no-build --detach --dir "$dir" \
		--port "$port" "$@" >"$TEST_TMP/$name.start.log" 2>&1 || {
		cat "$TEST_TMP/$name.start.log" "$dir"/*.log 2>/dev/null
		return 1
	}
	export PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres
	export PGDATABASE=postgres PGCONNECT_TIMEOUT=10
	unset PGPASSWORD PGOPTIONS PGAPPNAME
}

cluster_stop() {
	"$cluster_top/contrib/start" --stop --dir "${cluster_dirs[$1]}" \
		>/dev/null 2>&1
	unset "cluster_dirs[$1]"
}

cluster_cleanup() {
	local name
	for name in "${!cluster_dirs[@]}"; do
		cluster_stop "$name"
	done
	[[ -n ${KEEP:-} ]] || rm -rf "$TEST_TMP"
}
trap cluster_cleanup EXIT
