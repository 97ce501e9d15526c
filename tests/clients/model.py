"""A model that answers OK: the APIs of Anthropic, OpenAI (Responses and Chat Completions) and Gemini, on
a port of the loopback device. It records every request, and calls the tools that a test asks for.
"""

import gzip
import http.server
import json
import re
import threading
import zlib

NAME = "fake-model"


class FakeModel:
    """Runs while its `with` block does."""

    def __init__(self):
        self.requests = []
        self.calls = []
        self.changed = threading.Condition()
        handler = type("ModelHandler", (ModelHandler,), {"model": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def expect_call(self, tool, arguments):
        """The next request that offers a tool whose name matches is answered with a call of it."""
        self.calls.append((tool, arguments))

    def record(self, path, body):
        with self.changed:
            self.requests.append((path, body))
            self.changed.notify_all()

    def next_call(self, tools):
        with self.changed:
            if self.calls:
                pattern, arguments = self.calls[0]
                for tool in tools:
                    if re.search(pattern, tool[-1]):
                        self.calls.pop(0)
                        return tool, arguments
        return None

    def wait_for(self, found, seconds):
        """The first result of `found`, applied to the requests, that is not None."""
        with self.changed:
            self.changed.wait_for(lambda: found(self.requests) is not None, seconds)
            return found(self.requests)


def parts(body):
    """Everything that a request says to the model outside its system prompt: (role, text)."""
    found = []
    for message in body.get("messages", []):  # Anthropic, Chat Completions
        for part in contents(message.get("content")):
            found.append((message.get("role"), part))
    given = body.get("input", [])  # Responses
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        if item.get("type") == "function_call_output":
            found += [("tool", part) for part in contents(item.get("output"))]
        else:
            found += [(item.get("role"), part) for part in contents(item.get("content"))]
    for content in body.get("contents", []):  # Gemini
        for part in content.get("parts", []):
            if "functionResponse" in part:
                found.append(("tool", json.dumps(part["functionResponse"].get("response"))))
            elif "text" in part:
                found.append((content.get("role"), part["text"]))
    return found


def contents(content):
    if isinstance(content, str):
        return [content]
    found = []
    for part in content or []:
        if part.get("type") == "tool_result":
            found += contents(part.get("content"))
        elif isinstance(part.get("text"), str):
            found.append(part["text"])
    return found


def tool_names(body):
    """The tools that a request offers; a tool of a namespace has two names."""
    names = []
    for tool in body.get("tools") or []:
        if "functionDeclarations" in tool:
            names += [(it["name"],) for it in tool["functionDeclarations"]]
        elif "tools" in tool:
            names += [(tool.get("name", ""), it["name"]) for it in tool["tools"]]
        elif "function" in tool:
            names.append((tool["function"]["name"],))
        elif "name" in tool:
            names.append((tool["name"],))
    return names


class ModelHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.reply(b"", "text/plain")

    def do_GET(self):
        one = {"id": NAME, "object": "model", "created": 1, "owned_by": "test", "context_length": 200000}
        self.json({"object": "list", "data": [one], "models": [{"name": f"models/{NAME}"}]})

    def do_POST(self):
        try:
            body = json.loads(self.body())
        except ValueError:
            body = {}
        path = self.path
        if "ount_tokens" in path or ":countTokens" in path:
            return self.json({"input_tokens": 10, "totalTokens": 10})
        self.model.record(path, body)
        call = self.model.next_call(tool_names(body))
        for mark, answer in (
            ("/messages", self.answer_anthropic),
            ("/responses", self.answer_responses),
            ("/chat/completions", self.answer_chat),
            ("enerateContent", self.answer_gemini),
        ):
            if mark in path:
                return answer(body, call)
        return self.json({"ok": True})

    def body(self):
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            body = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
        encoding = self.headers.get("content-encoding")
        if encoding == "gzip":
            return gzip.decompress(body)
        if encoding == "deflate":
            return zlib.decompress(body)
        return body

    def reply(self, body, kind):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def json(self, value):
        self.reply(json.dumps(value).encode(), "application/json")

    def events(self, events, is_named=True, end=""):
        name = lambda event: f"event: {event['type']}\n" if is_named else ""
        texts = [f"{name(event)}data: {json.dumps(event)}\n\n" for event in events]
        self.reply(("".join(texts) + end).encode(), "text/event-stream")

    def answer_anthropic(self, body, call):
        reason = "tool_use" if call else "end_turn"
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", NAME),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        if call:
            block = {"type": "tool_use", "id": "toolu_1", "name": call[0][-1], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
            whole = {**block, "input": call[1]}
        else:
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "OK"}
            whole = {"type": "text", "text": "OK"}
        if not body.get("stream"):
            return self.json({**message, "content": [whole], "stop_reason": reason})
        end = {"stop_reason": reason, "stop_sequence": None}
        return self.events(
            [
                {"type": "message_start", "message": message},
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}},
                {"type": "message_stop"},
            ]
        )

    def answer_responses(self, body, call):
        if call:
            item = {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": call[0][-1],
                "arguments": json.dumps(call[1]),
                "status": "completed",
            }
            if len(call[0]) > 1:
                item["namespace"] = call[0][0]
        else:
            text = {"type": "output_text", "text": "OK", "annotations": []}
            item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        usage["input_tokens_details"] = {"cached_tokens": 0}
        usage["output_tokens_details"] = {"reasoning_tokens": 0}
        response = {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": body.get("model", NAME),
            "output": [item],
            "usage": usage,
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
        }
        if not body.get("stream"):
            return self.json(response)
        begun = {**response, "status": "in_progress", "output": []}
        return self.events(
            [
                {"type": "response.created", "sequence_number": 0, "response": begun},
                {"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": item},
                {"type": "response.output_item.done", "sequence_number": 2, "output_index": 0, "item": item},
                {"type": "response.completed", "sequence_number": 3, "response": response},
            ]
        )

    def answer_chat(self, body, call):
        message = {"role": "assistant", "content": None if call else "OK"}
        if call:
            function = {"name": call[0][-1], "arguments": json.dumps(call[1])}
            message["tool_calls"] = [{"id": "call_1", "type": "function", "index": 0, "function": function}]
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        common = {"id": "chat_1", "created": 1, "model": body.get("model", NAME)}
        reason = "tool_calls" if call else "stop"
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return self.json({**common, "object": "chat.completion", "choices": [choice], "usage": usage})
        chunk = {**common, "object": "chat.completion.chunk"}
        first = {"index": 0, "delta": message, "finish_reason": None}
        last = {"index": 0, "delta": {}, "finish_reason": reason}
        events = [{**chunk, "choices": [first]}, {**chunk, "choices": [last], "usage": usage}]
        return self.events(events, is_named=False, end="data: [DONE]\n\n")

    def answer_gemini(self, body, call):
        part = {"functionCall": {"name": call[0][-1], "args": call[1]}} if call else {"text": "OK"}
        wanted = body.get("generationConfig") or {}
        if not call and wanted.get("responseMimeType") == "application/json":
            part = {"text": json.dumps({"reasoning": "", "next_speaker": "user", "model_choice": "flash"})}
        answer = {
            "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        }
        if "stream" in self.path:
            return self.events([answer], is_named=False)
        return self.json(answer)
