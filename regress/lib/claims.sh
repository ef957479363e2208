# Sourced by test programs in bash: functions named claim_* are claims.
#
#   same GOT WANT        fails the claim unless they are equal
#   holds TEXT PATTERN   fails it unless the text matches the (bash) pattern
#   claims_main [word]   runs those with the word in their name, and sums up

same() {
	[[ $1 == "$2" ]] && return
	printf 'got:\n%s\nwant:\n%s\n' "$1" "$2"
	exit 1
}

holds() {
	# shellcheck disable=SC2053 # the right side is a pattern
	[[ $1 == $2 ]] && return
	printf 'got:\n%s\nwant it to match:\n%s\n' "$1" "$2"
	exit 1
}

claims_main() {
	local name out passed=0 failed=0
	while read -r name; do
		[[ $name == *"${1:-}"* ]] || continue
		# Not "if out=$(...)": that would switch errexit off inside.
		out=$(set -e; "$name" 2>&1)
		if [[ $? -eq 0 ]]; then
			passed=$((passed + 1))
			echo "ok ${name#claim_}"
		else
			failed=$((failed + 1))
			echo "FAIL ${name#claim_}: $out"
		fi
	done < <(compgen -A function claim_)
	echo "$passed passed, $failed failed"
	[[ $failed -eq 0 && $passed -gt 0 ]]
}
