"""Claims of a test program: functions whose names read as what they show.

    @claim
    def a_wrong_password_is_refused(): ...

    main()    # runs those whose name contains argv[1] (all without it)

Each prints "ok NAME" or "FAIL NAME" and why; the last line sums up.
"""
import sys
import time
import traceback

sys.dont_write_bytecode = True
_claims = []


def claim(fn):
    _claims.append(fn)
    return fn


class Failed(Exception):
    pass


def check(cond, *what):
    """Like assert, but says what was seen, and cannot be switched off."""
    if not cond:
        raise Failed(" ".join(str(w) for w in what) or "does not hold")


def equal(got, want, what=""):
    if got != want:
        raise Failed("%s: got %r, want %r" % (what or "differs", got, want))


def wait_for(cond, seconds, what):
    """Polls until cond() is true, and returns what it said."""
    end = time.monotonic() + seconds
    while True:
        got = cond()
        if got:
            return got
        if time.monotonic() > end:
            raise Failed("not within %s s: %s" % (seconds, what))
        time.sleep(0.02)


def _run(step, name):
    """Runs one function of a claim; whether it went through."""
    try:
        if step:
            step()
        return True
    except Exception as e:
        print("FAIL %s: %s" % (name, e))
        if not isinstance(e, Failed):
            traceback.print_exc(file=sys.stdout)
        return False


def main(before=None, after=None):
    """before() and after() run around each claim; after() also when the claim
    does not hold."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    passed = failed = 0
    for fn in _claims:
        name = fn.__name__
        if wanted not in name:
            continue
        begin = time.monotonic()
        holds = _run(before, name)
        if holds:
            holds = _run(fn, name)
            holds = _run(after, name + ", after it") and holds
        if holds:
            passed += 1
            print("ok %s (%.1f s)" % (name, time.monotonic() - begin))
        else:
            failed += 1
        sys.stdout.flush()
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed or not passed else 0)
