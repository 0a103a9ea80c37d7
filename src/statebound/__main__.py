"""Entry point of the command line."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    import signal

    from statebound.experiments.cli import main as run

    try:
        run()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # done: python's own way out is not told of


if __name__ == "__main__":
    main()
