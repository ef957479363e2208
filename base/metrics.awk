# metrics.def -> the table of the manual.
sub(/^METRIC\([A-Z0-9_]+, /, "") {
	kind = tolower($1)
	sub(/,$/, "", kind)
	sub(/_/, " ", kind)
	sub(/^[A-Z_]+, "/, "")
	sub(/"\)$/, "")
	at = match($0, /", "/)
	name = substr($0, 1, at - 1)
	gsub(/\\"/, "\"", name)
	printf ".TP\n\\fB%s\\fR (%s)\n%s.\n", name, kind, substr($0, at + 4)
}
