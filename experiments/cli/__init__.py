"""The command line: stdout is data, stderr is talk.

Exit codes: 0 done; 1 failed; 2 usage; 3 a proved wall was broken; 4 incomplete; 130
interrupted. A user's mistake is one line on stderr, never a traceback.
"""

from __future__ import annotations

import os
import sys
from typing import Any

INTERRUPTED = 130


def application() -> Any:
    """Return the application with all its verbs."""
    from statebound.experiments.cli import (  # noqa: F401  (adds the verbs)
        audit,
        capacity,
        commands,
        compare,
        demo,
        explain,
        export,
        hierarchy,
        leaderboard,
        learn,
        lists,
        plot,
        shows,
        subject,
        sweep,
        think,
        train,
    )
    from statebound.experiments.cli.app import app

    return app


def main() -> None:
    """Run the command line and leave with its exit code."""
    from statebound.errors import StateboundError, UsageError

    app = application()
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # the option parser has caught the interrupt
            raise KeyboardInterrupt
    except UsageError as error:
        code = _say(f"error: {error}", 2)
    except StateboundError as error:
        code = _say(f"error: {error}", 1)
    except KeyboardInterrupt:
        code = _say("interrupted; what was written before is kept", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except OSError as error:
        code = _say(f"error: {error.filename or 'file'}: {error.strerror or error}", 1)
    except MemoryError:
        code = _say("error: out of memory; take a smaller n, state or batch", 1)
    except Exception as error:
        code = _usage(error)
        if code is None:
            raise
    sys.exit(code if isinstance(code, int) else 0)


def _say(text: str, code: int) -> int:
    """Say it in one line; what a file holds may not steer the terminal."""
    plain = "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(text.splitlines()))
    sys.stderr.write(plain + "\n")
    return code


def _usage(error: Exception) -> int | None:
    """Show a parsing error of the option parser in one line; None if it is none."""
    shown = getattr(error, "format_message", None)
    if shown is not None:
        return _say(f"error: {shown()}; see statebound --help", 2)
    if type(error).__name__ in ("Exit", "Abort"):
        return int(getattr(error, "exit_code", INTERRUPTED))
    return None
