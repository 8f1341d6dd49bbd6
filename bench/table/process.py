"""A worker as its parent sees it: a request, an answer or an error, and a limit on waiting."""

import contextlib
import json
import selectors
import subprocess

from . import peers


class WorkerError(Exception):
    """A worker answered with an error, did not answer in time, or died."""


class Process:
    """Starts a worker at the first request; `died` counts how often one was lost."""

    def __init__(self, framework, python, threads, log):
        self.framework, self.python, self.threads, self.log = framework, python, threads, log
        self.died = 0
        self._nice = 0
        self._child = None

    def ask(self, limit, do, **request):
        """The answer to a request, within `limit` seconds."""
        if self._child is None:
            self._child = peers.start(self.framework, self.python, self.threads, self.log)
        child = self._child
        try:
            child.stdin.write(json.dumps({"do": do, **request}) + "\n")
            child.stdin.flush()
            line = self._line(child, limit)
        except BrokenPipeError:
            line = ""
        if not line:
            late = child.poll() is None and line is None
            self.close(kill=True)
            self.died += 1
            what = f"did not answer in {limit:g} seconds" if late else "died"
            raise WorkerError(f"{self.framework}'s process {what}.")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer

    @staticmethod
    def _line(child, limit):
        """None when the time is up, "" when the process has ended."""
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            return child.stdout.readline() if selector.select(limit) else None

    def prefer(self, nice):
        """See peers.prefer."""
        if self._child is not None and nice != self._nice:
            self._nice = nice
            peers.prefer(self._child, nice)

    def close(self, kill=False):
        child, self._child = self._child, None
        self._nice = 0
        if child is None:
            return
        if kill:
            child.kill()
        with contextlib.suppress(BrokenPipeError):  # of a request that it did not take
            child.stdin.close()
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        child.stdout.close()
