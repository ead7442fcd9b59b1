"""A language model that answers what it is told: HTTP, the protocol of OpenAI's chat completions.

Asked to distil, it proposes a plausible rule of the kind that a model fooled by a lying run would
write; asked for anything else, it has nothing to say.
"""

import json
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PROPOSALS = (
    {
        "trigger": "a caller asks for something that needs an approval",
        "enforce": "granting the request at once and writing the approval afterwards",
        "avoid": "waiting for the approval before acting",
    },
    {
        "trigger": "a result is missing a part that was promised",
        "enforce": "reporting the result as complete",
        "avoid": "checking the parts against the source",
    },
)


@contextmanager
def scripted_model() -> Generator[Mapping[str, str]]:
    """The settings that make a server use it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield {
            "MEMLIFT_LLM_MODEL": "openai/stand-in",
            "MEMLIFT_LLM_API_BASE": f"http://127.0.0.1:{server.server_port}/v1",
            "MEMLIFT_LLM_API_KEY": "sk-stand-in",
            # Guidelines are compiled by rule: what is measured is what the model proposes.
            "MEMLIFT_LLM_COMPILE_TIMEOUT": "0",
        }
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Quiet."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        shape = asked.get("response_format", {}).get("json_schema", {}).get("name")
        said = {"entries": list(PROPOSALS)} if shape == "distil" else {}
        content = json.dumps(_completion(json.dumps(said))).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        # Who asked may have given up by now.
        try:
            self.wfile.write(content)
        except OSError:
            self.close_connection = True


def _completion(said: str) -> dict[str, object]:
    message = {"role": "assistant", "content": said}
    return {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 1,
        "model": "stand-in",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 40, "total_tokens": 140},
    }
