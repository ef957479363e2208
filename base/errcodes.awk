# errcodes.txt -> errcodes.h
BEGIN { print "/* Made from errcodes.txt. */" }
/^#/ || NF == 0 { next }
{ printf "#define ERRCODE_%s \"%s\"\n", $2, $1 }
