"""Runs a bench until it is told to end: `python -m bench FOLDER`. FOLDER/environment is there once it is ready."""

import shlex
import signal
import sys
from pathlib import Path

from .bench import Bench


def main():
    """Starts, tells how to use it, waits."""
    folder = Path(sys.argv[1])
    stopped = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.append(True))
    with Bench() as bench:
        variables = {**bench.environment("provision"), "KUBECONFIG": str(bench.kubeconfig())}
        lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
        lines.append(f"export PATH={shlex.quote(str(bench.folder / 'cluster' / 'bin'))}:$PATH")
        (folder / "environment.new").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / "environment.new").rename(folder / "environment")
        while not stopped:
            signal.pause()


if __name__ == "__main__":
    main()
