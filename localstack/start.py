"""Starts MiniStack with what it gets wrong about functions put right.

Each change below replaces a piece of its source, which is there exactly once in the version that requirements.txt pins: with another
version this stops, and says which change to look at again. The installed files stay as they are.
"""

import importlib.abc
import importlib.machinery
import os
import runpy
import sys

CHANGES = {
    "ministack.services.lambda_svc": [
        (
            "one process must not be given the same event again, which it would begin and never end",
            '''                if "/runtime/invocation/next" in self.path:
''',
            '''                if "/runtime/invocation/next" in self.path and event_served.is_set():
                    self.close_connection = True
                elif "/runtime/invocation/next" in self.path:
                    event_served.set()
''',
        ),
        (
            "a process that ends without an answer is an error at once, and not after its time is up",
            '''            if response_received.wait(timeout=timeout):
                proc.terminate()
''',
            '''            def _watch():
                code = proc.wait()
                time.sleep(0.05)  # its last words may be on their way
                if not response_received.is_set():
                    result_holder["error"] = {
                        "errorType": "Runtime.ExitError",
                        "errorMessage": f"RequestId: {request_id} Error: Runtime exited with exit code {code}",
                    }
                    response_received.set()

            threading.Thread(target=_watch, daemon=True).start()

            if response_received.wait(timeout=timeout):
                proc.kill()
''',
        ),
        (
            "what a function logs goes to the emulator's log, since a pipe that nobody reads stops it when it is full",
            '''                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )

            def _watch():''',
            '''                    stdout=2,
                    stderr=2,
                )

            def _watch():''',
        ),
        (
            "nobody can be told what is in that log",
            '''                stdout, stderr = proc.communicate(timeout=5)
                logs = (stdout.decode("utf-8", errors="replace") + stderr.decode("utf-8", errors="replace")).strip()
                return {"body": {"errorMessage": f"Lambda timed out after {timeout}s: {logs[:500]}", "errorType": "Runtime.ExitError"}, "error": True}
''',
            '''                return {"body": {"errorMessage": f"Task timed out after {timeout} seconds", "errorType": "Sandbox.Timedout"}, "error": True}
''',
        ),
        (
            "an answer is passed on at once, and not at the next of two looks a second",
            '''            server_ready.set()
            server.serve_forever()
''',
            '''            server_ready.set()
            server.serve_forever(poll_interval=0.005)
''',
        ),
        (
            "each source has pollers of its own, as on AWS: a step that runs must not keep the others waiting",
            '''def _poll_loop():
''',
            '''_mine = threading.local()


def _poll_loop():
    polled = set()
    while True:
        for _acct, _region, esm in _iter_all_esms():
            if esm["UUID"] not in polled:
                polled.add(esm["UUID"])
                for _ in range(5 if ":sqs:" in esm.get("EventSourceArn", "") else 1):
                    threading.Thread(target=_poll_mine, args=(esm["UUID"],), daemon=True).start()
        time.sleep(0.2)


def _poll_mine(uuid):
    _mine.uuid = uuid
    while any(key[-1] == uuid for key in list(_esms._data)):
        _poll_once()


def _poll_once():
    processed = False
    for poll in (_poll_sqs, _poll_dynamodb_streams):
        try:
            processed = poll() or processed
        except Exception as e:
            logger.error("ESM poller error: %s", e)
    if not processed:
        time.sleep(0.2)


def _poll_loop_of_all():
''',
        ),
        (
            "a poller sees its own source alone",
            '''            acct_id, _esm_key = scoped_key
            region = REGION
        yield acct_id, region, esm
''',
            '''            acct_id, _esm_key = scoped_key
            region = REGION
        if getattr(_mine, "uuid", esm["UUID"]) == esm["UUID"]:
            yield acct_id, region, esm
''',
        ),
    ],
    "ministack.services.scheduler": [
        (
            "schedules fire when they are due, and not up to ten seconds later",
            "_SCHEDULE_TICK_INTERVAL = 10 ",
            "_SCHEDULE_TICK_INTERVAL = 1 ",
        ),
    ],
    "ministack.services.cloudformation.handlers": [
        (
            "a stack can be deleted by its ARN, as the CDK does",
            '''    stack = _stacks.get(stack_name)
    if not stack:
        # AWS returns success for deleting non-existent stacks
''',
            '''    if stack_name.startswith("arn:"):
        stack_name = stack_name.split("/")[1]
    stack = _stacks.get(stack_name)
    if not stack:
        # AWS returns success for deleting non-existent stacks
''',
        ),
        (
            "a stack that is being deleted says so, or the CDK takes it for one that is to stay",
            '''    # Deleting a stack removes its change sets; they must not outlive it and
''',
            '''    stack["StackStatus"] = "DELETE_IN_PROGRESS"
    # Deleting a stack removes its change sets; they must not outlive it and
''',
        ),
    ],
    "ministack.services.cloudformation.provisioners": [
        (
            "a queue keeps its dead letters",
            '''        "ReceiveMessageWaitTimeSeconds": str(props.get("ReceiveMessageWaitTimeSeconds", "0")),
    }
    if is_fifo:
''',
            '''        "ReceiveMessageWaitTimeSeconds": str(props.get("ReceiveMessageWaitTimeSeconds", "0")),
    }
    if props.get("RedrivePolicy"):
        attributes["RedrivePolicy"] = json.dumps(props["RedrivePolicy"])
    if is_fifo:
''',
        ),
    ],
}


class Changed(importlib.machinery.SourceFileLoader):
    """Loads a module with its changes."""

    def get_code(self, fullname):
        source = self.get_source(fullname)
        for why, before, after in CHANGES[fullname]:
            if source.count(before) != 1:
                sys.exit(f"{self.path} is not what localstack/start.py changes: {source.count(before)} places for: {why}")
            source = source.replace(before, after)
        return compile(source, self.path, "exec", dont_inherit=True)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules that change."""

    def find_spec(self, fullname, path, target=None):
        if fullname not in CHANGES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        spec.loader = Changed(fullname, spec.origin)
        return spec


sys.meta_path.insert(0, Finder())
# They listen on ports that every emulator on the machine would want, and on every interface.
os.environ.setdefault("IOT_MTLS_ENABLED", "0")
os.environ.setdefault("SFTP_ENABLED", "0")
# The arguments and the environment are MiniStack's own.
sys.argv[0] = "ministack"
runpy.run_module("ministack", run_name="__main__")
