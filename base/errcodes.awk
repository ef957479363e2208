# errcodes.txt -> errcodes.h, or with -v out=manual the table of the manual.
BEGIN {
	manual = out == "manual"
	if (!manual)
		print "/* Made from errcodes.txt. */"
}
/^#/ || NF == 0 { next }
!manual { printf "#define ERRCODE_%s \"%s\"\n", $2, $1 }
manual { printf ".TP\n.B %s\n%s\n", $1, tolower($2) }
