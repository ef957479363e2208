dnl Warnings for both compilers, the ones only gcc knows, hardening, options.

AC_DEFUN([SK_FLAG], [
AS_VAR_PUSHDEF([sk_var], [sk_cv_flag_$2])
AC_CACHE_CHECK([whether $CC takes $2], [sk_var], [
    sk_save=$CFLAGS
    CFLAGS="$CFLAGS -Werror $2"
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([int sk_probe;])],
        [AS_VAR_SET([sk_var], [yes])], [AS_VAR_SET([sk_var], [no])])
    CFLAGS=$sk_save
])
AS_VAR_IF([sk_var], [yes], [$1="$[]$1 $2"])
AS_VAR_POPDEF([sk_var])
])

AC_DEFUN([SK_WARNINGS], [
SK_CFLAGS="-std=c11 -fno-common -fno-strict-aliasing"
m4_foreach_w([sk_f], [-Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
    -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
    -Wpointer-arith -Wcast-qual -Wformat=2 -Wundef -Wvla -Walloca
    -Wwrite-strings -Wnull-dereference -Wimplicit-fallthrough -Wdate-time
    -Wframe-larger-than=8192 -Wcast-align=strict -Wjump-misses-init
    -Wduplicated-cond -Wduplicated-branches -Wlogical-op
    -Wformat-signedness -ftrivial-auto-var-init=zero],
    [SK_FLAG([SK_CFLAGS], sk_f)
])
AC_SUBST([SK_CFLAGS])])

AC_DEFUN([SK_HARDENING], [
SK_HARDEN= SK_HARDEN_LD=
m4_foreach_w([sk_f], [-fstack-protector-strong -fstack-clash-protection
    -fcf-protection -fPIE], [SK_FLAG([SK_HARDEN], sk_f)
])
SK_HARDEN_LD="-pie -Wl,-z,relro,-z,now"
SK_FORTIFY="-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"
AC_SUBST([SK_HARDEN]) AC_SUBST([SK_HARDEN_LD])])

AC_DEFUN([SK_SWITCH], [dnl name, help, then
AC_ARG_ENABLE([$1], [AS_HELP_STRING([--enable-$1], [$2])], [],
    [AS_TR_SH([enable_$1])=no])
AS_IF([test "$AS_TR_SH([enable_$1])" != no], [$3])])

AC_DEFUN([SK_OPTIONS], [
SK_SWITCH([werror], [warnings are errors (CI)], [SK_CFLAGS="$SK_CFLAGS -Werror"])
SK_SWITCH([sanitizers], [AddressSanitizer and UBSan, or a list: thread], [
    AS_IF([test "$enable_sanitizers" = yes], [enable_sanitizers=address,undefined])
    SK_CFLAGS="$SK_CFLAGS -fsanitize=$enable_sanitizers -fno-omit-frame-pointer -fno-sanitize-recover=all"
    SK_HARDEN_LD="$SK_HARDEN_LD -fsanitize=$enable_sanitizers"
    SK_FORTIFY=])
SK_SWITCH([arena-debug], [each arena piece is a malloc of its own], [
    AC_DEFINE([ARENA_DEBUG], [1], [Each arena piece is a malloc of its own])])
SK_SWITCH([mutations], [TEST ONLY: switches that break one rule each], [
    AC_DEFINE([MUTATIONS], [1], [Switches that break one rule each])])
SK_SWITCH([coverage], [gcov], [SK_CFLAGS="$SK_CFLAGS --coverage"
    SK_HARDEN_LD="$SK_HARDEN_LD --coverage" SK_FORTIFY=])
SK_SWITCH([fuzzing], [libFuzzer targets (CC=clang)], [
    SK_CFLAGS="$SK_CFLAGS -fsanitize=fuzzer-no-link,address,undefined"
    SK_HARDEN_LD="$SK_HARDEN_LD -fsanitize=address,undefined" SK_FORTIFY=])
AC_SUBST([SK_FORTIFY])
AM_CONDITIONAL([FUZZING], [test "$enable_fuzzing" != no])
AM_CONDITIONAL([MUTATIONS], [test "$enable_mutations" != no])])

AC_DEFUN([SK_LIB], [dnl PREFIX, library, function, Debian package
sk_save=$LIBS
AC_CHECK_LIB([$2], [$3], [$1_LIBS="-l$2"],
    [AC_MSG_ERROR([library $2 is missing (Debian: $4)])])
LIBS=$sk_save
AC_SUBST([$1_LIBS])])

AC_DEFUN([SK_PG_SERVER_HEADERS], [
AC_PATH_PROGS([PG_CONFIG], [pg_config], [],
    [/usr/lib/postgresql/15/bin$PATH_SEPARATOR$PATH])
AS_IF([test -z "$PG_CONFIG"],
    [AC_MSG_ERROR([pg_config is missing (Debian: postgresql-server-dev-15)])])
sk_dir=`$PG_CONFIG --includedir-server`
AS_IF([test -f "$sk_dir/nodes/parsenodes.h"], [],
    [AC_MSG_ERROR([$sk_dir lacks server headers (Debian: postgresql-server-dev-15)])])
PG_SERVER_CFLAGS="-isystem $sk_dir"
AC_SUBST([PG_SERVER_CFLAGS])])
