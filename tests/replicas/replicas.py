#!/usr/bin/env python3
"""Three replicas behind nginx on one database, and what clients of both eras see of them.

usage: tests/replicas/replicas.py BINARY [CHECK...]
"""

import base64
import hmac
import http.client
import json
import pathlib
import sys
import tempfile
import threading
import time

from topology import PATIENCE, Stream, Topology, authorized, begin, end, get, post, wait_for

BINARY, *WANTED = sys.argv[1:]
GARDEN = "/mcp/default/garden"
checks = []


def check(function):
    checks.append(function)
    return function


@check
def a_session_goes_on_at_every_replica(topology):
    session = begin(topology.port)
    failed = [post(topology.port, "prompts/list", session=session)[0] for _ in range(1000)]
    assert set(failed) == {200}, failed
    for replica in topology.replicas:
        status, _, answer = post(replica.port, "prompts/list", session=session)
        assert status == 200 and answer["result"]["prompts"], answer


@check
def a_session_goes_on_after_all_replicas_were_restarted(topology):
    session = begin(topology.port, GARDEN)
    stream = Stream(topology.port, session, GARDEN)
    for replica in topology.replicas:
        assert replica.stop() == 0
    for replica in topology.replicas:
        replica.start()
    status, _, _ = wait_for(
        "a call after the restart",
        lambda: (answer := post(topology.port, "prompts/list", session=session, path=GARDEN))[0] != 502 and answer,
    )
    assert status == 200, status
    wait_for("the stream is open again", lambda: stream.opened > 1)
    before = len(stream.events)
    written = time.monotonic()
    write(topology.replicas[0].port, "after_the_restart")
    wait_for("the announcement", lambda: "notifications/prompts/list_changed" in stream.events[before:])
    took("a write was announced", written)
    stream.close()


def write(port, name):
    arguments = {"name": name, "content": f"This is {name}", "description": "Written by a client"}
    status, _, answer = post(port, "tools/call", {"name": "create_prompt", "arguments": arguments}, path=GARDEN)
    assert status == 200 and not answer["result"].get("isError"), answer


@check
def a_write_at_one_replica_is_served_and_announced_by_all(topology):
    streams = [Stream(it.port, begin(it.port, GARDEN), GARDEN) for it in topology.replicas]
    before = [len(stream.events) for stream in streams]
    write(topology.replicas[0].port, "roses")
    for replica in topology.replicas:

        def is_served(replica=replica):
            status, _, answer = post(replica.port, "prompts/get", {"name": "roses"}, path=GARDEN)
            return status == 200 and "result" in answer

        wait_for("the prompt is served", is_served)
    for stream, count in zip(streams, before):
        changed = "notifications/prompts/list_changed"
        wait_for("it is announced", lambda stream=stream, count=count: changed in stream.events[count:])
        stream.close()


@check
def a_label_that_moves_is_served_by_all_replicas(topology):
    write(topology.replicas[0].port, "labelled")

    def label(version):
        topology.twig("prompt", "label", "labelled", "production", "--version", str(version), "-p", "garden")

    def are_all(text):
        def is_served(replica):
            _, _, answer = post(replica.port, "prompts/get", {"name": "labelled@production"}, path=GARDEN)
            return "result" in answer and answer["result"]["messages"][0]["content"]["text"] == text

        wait_for(f"all serve {text!r}", lambda: all(is_served(it) for it in topology.replicas))

    label(1)
    are_all("This is labelled")
    arguments = {"name": "labelled", "content": "Changed"}
    params = {"name": "update_prompt", "arguments": arguments}
    status, _, answer = post(topology.replicas[1].port, "tools/call", params, path=GARDEN)
    assert status == 200 and not answer["result"].get("isError"), answer
    are_all("This is labelled")
    label(2)
    are_all("Changed")


def took(what, begun):
    """Says how long it took. The bound is for a busy machine; it is a second where nothing else runs."""
    seconds = time.monotonic() - begun
    print(f"    {what} after {seconds * 1000:.0f} ms")
    assert seconds < 5, seconds


@check
def ids_that_were_changed_are_refused_with_one_text(topology):
    session = begin(topology.port)
    sealed = opened(session)
    wrong = ["x" * 10_000, "x", session[:-4]]
    for at in range(len(sealed)):
        flipped = bytearray(sealed)
        flipped[at] ^= 1
        wrong.append(encoded(flipped))
    body, now = sealed[:-16], int.from_bytes(sealed[1:9])
    key = bytes.fromhex(topology.postgres.query("SELECT encode(key, 'hex') FROM twig.session"))

    def of_age(hours, key=key):
        aged = body[:1] + (now - hours * 3600).to_bytes(8) + body[9:]
        return encoded(aged + hmac.digest(key, aged, "sha256")[:16])

    # Of what is sealed rightly, the time decides.
    assert post(topology.port, "prompts/list", session=of_age(23))[0] == 200
    wrong += [of_age(25), of_age(-25), of_age(0, bytes(32))]
    refused = {refusal(topology, number, id) for number, id in enumerate(wrong)}
    assert len(refused) == 1 and {status for status, _ in refused} == {404}, refused
    # The time that a refusal takes does not say what is wrong.
    kinds = {"first byte": wrong[3], "last byte": wrong[-4], "old": of_age(25), "another key": of_age(0, bytes(32))}
    times = {kind: [] for kind in kinds}
    for _ in range(200):
        for kind, id in kinds.items():
            begun = time.monotonic()
            post(topology.replicas[0].port, "prompts/list", session=id)
            times[kind].append(time.monotonic() - begun)
    medians = {kind: sorted(of)[len(of) // 2] * 1e6 for kind, of in times.items()}
    print("    refused after", ", ".join(f"{median:.0f} us ({kind})" for kind, median in medians.items()))
    assert max(medians.values()) < 1.5 * min(medians.values()), medians


def opened(session):
    return base64.urlsafe_b64decode(session + "=" * (-len(session) % 4))


def encoded(sealed):
    return base64.urlsafe_b64encode(sealed).decode().rstrip("=")


def refusal(topology, number, session, key=None):
    """How one of the replicas refuses a session."""
    replica = topology.replicas[number % len(topology.replicas)]
    status, _, answer = post(replica.port, "prompts/list", session=session, key=key)
    return status, answer["error"]["message"]


@check
def sessions_cost_no_memory(topology):
    replica = topology.replicas[0]
    # Enough for all sessions that are kept.
    for _ in range(500):
        begin(replica.port)
    before = replica.memory()
    for _ in range(10_000):
        begin(replica.port)
    grown = replica.memory() - before
    assert grown < 2, f"{grown} MB"


@check
def a_session_that_was_ended_at_one_replica_is_ended_at_all(topology):
    one, *others = topology.replicas
    session = begin(topology.port)
    streams = [Stream(it.port, session) for it in others]
    assert all(post(it.port, "prompts/list", session=session)[0] == 200 for it in topology.replicas)
    assert end(one.port, session) == 204
    begun = time.monotonic()
    # What was acknowledged survives a crash.
    one.process.kill()
    one.process.wait()
    for replica in others:
        wait_for(
            "the session is unknown",
            lambda replica=replica: post(replica.port, "prompts/list", session=session)[0] == 404,
        )
    for stream in streams:
        wait_for("its stream has ended", lambda stream=stream: stream.refused)
        stream.close()
    took("all replicas refused it", begun)
    assert end(others[0].port, session) == 404
    one.start()
    assert others[0].stop() == 0
    others[0].start()
    assert {post(it.port, "prompts/list", session=session)[0] for it in topology.replicas} == {404}


@check
def probes_get_answers_and_nothing_else(topology):
    replica = topology.replicas[0]
    for host in ("10.1.2.3:9373", "anything.example"):
        for agent in ("kube-probe/1.31", "ELB-HealthChecker/2.0"):
            headers = {"host": host, "user-agent": agent, "connection": "close"}
            for path in ("/livez", "/readyz", "/metrics"):
                assert get(replica.admin, path, headers)[0] == 200, path
            assert get(replica.port, "/healthz", headers)[0] == 200
        for path in ("/", "/mcp", "/healthz"):
            assert get(replica.admin, path, {"host": host})[0] == 404, path


class Load:
    """Clients that ask at a steady rate until they are stopped; with `writes`, one of them writes."""

    def __init__(self, port, rate, clients, writes=False, key=None):
        self.port, self.pause, self.key = port, clients / rate, key
        self.session = begin(port, key=key)
        self.is_over = threading.Event()
        self.failed, self.answered, self.times = [], [], []
        self.begun = time.monotonic()
        self.threads = [
            threading.Thread(target=self.follow, args=(self.write if writes and number == 0 else self.ask,))
            for number in range(clients)
        ]
        for thread in self.threads:
            thread.start()

    def ask(self, _):
        return post(self.port, "prompts/list", session=self.session, key=self.key)[0]

    def write(self, number):
        write(self.port, f"load_{number}")
        return 200

    def follow(self, request):
        number = 0
        while not self.is_over.is_set():
            begun = time.monotonic()
            number += 1
            try:
                status = request(number)
                self.times.append(time.monotonic() - begun)
                (self.answered if status == 200 else self.failed).append(status)
            except (OSError, AssertionError) as error:
                self.failed.append(repr(error))
            self.is_over.wait(max(0, self.pause - (time.monotonic() - begun)))

    def end(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join(PATIENCE)

    def p99(self):
        return sorted(self.times)[len(self.times) * 99 // 100] * 1000

    def stop(self):
        self.end()
        assert not self.failed, f"{len(self.failed)} of {len(self.failed) + len(self.answered)}: {self.failed[:5]}"
        assert self.answered
        rate = len(self.answered) / (time.monotonic() - self.begun)
        print(f"    {len(self.answered)} requests were answered, {rate:.0f} in a second, p99 {self.p99():.0f} ms")


@check
def a_rolling_restart_loses_no_request(topology):
    streams = [Stream(topology.port, begin(topology.port)) for _ in range(50)]
    load = Load(topology.port, rate=200, clients=8)
    for replica in topology.replicas:
        assert replica.stop() == 0
        replica.start()
    load.stop()
    assert not any(stream.refused for stream in streams), "a stream was refused"
    for stream in streams:
        wait_for("the stream is open again", lambda stream=stream: stream.opened > 1)
        stream.close()
    away = max(stream.away for stream in streams)
    print(f"    the longest time without a stream: {away * 1000:.0f} ms")
    assert away < 5, away


def tables_are_migrated_under_load():
    """The new Twig on the tables of the one before, which are then migrated while it serves."""
    with Topology(BINARY, 2, has_older_tables=True) as topology:
        version = "SELECT schema FROM twig.meta"
        assert topology.postgres.query(version) == str(topology.older)
        write(topology.replicas[0].port, "before_the_migration")
        load = Load(topology.port, rate=100, clients=4, writes=True)
        wait_for("some answers", lambda: len(load.answered) > 50)
        said = topology.twig("store", "migrate")
        count = len(load.answered)
        wait_for("some more answers", lambda: len(load.answered) > count + 50 or load.failed)
        load.stop()
        assert topology.postgres.query(version) == str(topology.older + 1), said
        # All that was written is there, at each replica, and as it was written.
        expected = {"before_the_migration"} | {
            f"load_{number}" for number in range(1, 1 + int(topology.postgres.query("SELECT count(*) FROM twig.change")) - 2)
        }
        for replica in topology.replicas:

            def are_served(replica=replica):
                _, _, answer = post(replica.port, "prompts/list", path=GARDEN)
                return expected <= {it["name"] for it in answer["result"]["prompts"]} or answer["result"].get("nextCursor")

            wait_for("all that was written is served", are_served)
        topology.twig("store", "verify")


# From here on there are keys, and every request needs one.


@check
def roles_that_change_are_announced_by_all_replicas(topology):
    key = topology.twig("key", "create", "anna", "--role", "reader", "-w", "elsewhere").strip()
    prompts = "notifications/prompts/list_changed"
    streams = [Stream(it.port, begin(it.port, key=key), key=key) for it in topology.replicas]

    def listed(replica):
        answer = post(replica.port, "prompts/list", key=key)[2]
        return any(prompt["name"].startswith("garden:") for prompt in answer["result"]["prompts"])

    assert not any(listed(it) for it in topology.replicas)
    for change, is_there in (("add", True), ("remove", False)):
        before = [len(stream.events) for stream in streams]
        topology.twig("grant", change, "anna", "reader", "default")
        begun = time.monotonic()
        for stream, count in zip(streams, before):
            wait_for("it is announced", lambda stream=stream, count=count: prompts in stream.events[count:])
        took(f"a role that was {change.rstrip('e')}ed was announced by all", begun)
        assert all(listed(it) == is_there for it in topology.replicas)
    for stream in streams:
        stream.close()


@check
def a_revoked_key_is_refused_by_all_replicas_and_ends_streams(topology):
    key = topology.twig("key", "create", "ben", "--role", "reader").strip()
    # A new key works at once.
    assert {post(it.port, "prompts/list", key=key)[0] for it in topology.replicas} == {200}
    streams = [Stream(it.port, begin(it.port, key=key), key=key) for it in topology.replicas]
    topology.twig("key", "revoke", "ben")
    begun = time.monotonic()
    for replica, stream in zip(topology.replicas, streams):
        wait_for("the key is refused", lambda replica=replica: post(replica.port, "prompts/list", key=key)[0] == 401)
        wait_for("the stream has ended", lambda stream=stream: stream.ended)
    took("all replicas refused it, and all streams had ended", begun)
    for stream in streams:
        wait_for("it is not opened again", lambda stream=stream: 401 in stream.refused)
        stream.close()


@check
def a_session_of_another_person_is_refused_as_an_unknown_one(topology):
    one, other = (topology.twig("key", "create", name, "--role", "reader").strip() for name in ("carl", "dora"))
    session = begin(topology.port, key=one)
    for number in range(len(topology.replicas)):
        assert post(topology.replicas[number].port, "prompts/list", session=session, key=one)[0] == 200
        refused = refusal(topology, number, session, key=other)
        assert refused == refusal(topology, number, "x", key=other) and refused[0] == 404, refused
        assert end(topology.replicas[number].port, session, key=other) == 404
    assert post(topology.port, "prompts/list", session=session, key=one)[0] == 200


@check
def a_browser_stays_with_the_replica_that_gave_it_a_key(topology):
    key = topology.twig("key", "create", "gina", "--role", "reader").strip()
    assert page(topology.port, "GET", "visitor")[0] == 401
    status, entered = page(topology.port, "POST", "enter", {"secret": key})
    assert status == 200, entered
    asked = [page(topology.port, "GET", "visitor", key=entered["key"])[0] for _ in range(60)]
    assert set(asked) == {200}, asked
    alone = [page(it.port, "GET", "visitor", key=entered["key"])[0] for it in topology.replicas]
    assert sorted(alone) == [200, 401, 401], alone


def page(port, method, what, body=None, key=None):
    """What the page of a browser asks."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    headers = {"content-type": "application/json", "sec-fetch-site": "same-origin"}
    connection.request(method, f"/page/{what}", body and json.dumps(body), authorized(headers, key))
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    is_json = (answer.headers["content-type"] or "").startswith("application/json")
    return answer.status, json.loads(text) if is_json else text


@check
def a_person_who_asks_too_often_does_not_slow_others(topology):
    one, greedy = (topology.twig("key", "create", name, "--role", "reader").strip() for name in ("emil", "fred"))

    def quiet():
        load = Load(topology.port, rate=40, clients=2, key=one)
        wait_for("some answers", lambda: len(load.answered) > 100 or load.failed)
        load.stop()
        return load.p99()

    before = quiet()
    # Each replica counts for itself: 50 in a second, after the first 200.
    flood = Load(topology.port, rate=600, clients=12, key=greedy)
    wait_for("the first refusal", lambda: flood.failed)
    during = quiet()
    flood.end()
    assert set(flood.failed) == {429}, set(flood.failed)
    print(f"    p99 of others: {before:.0f} ms, beside {len(flood.failed)} refusals {during:.0f} ms")
    assert during < max(5 * before, 250), (before, during)


@check
def no_secret_is_in_the_database_or_the_logs(topology):
    secrets = []
    for number in range(50):
        secrets.append(topology.twig("key", "create", f"p{number}", "--role", "reader").strip())
        replica = topology.replicas[number % len(topology.replicas)]
        assert post(replica.port, "prompts/list", key=secrets[-1])[0] == 200
        assert post(replica.port, "prompts/list", key=secrets[-1] + "x")[0] == 401
    secrets += [topology.twig("key", "rotate", f"p{number}").strip() for number in range(10)]
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder).chmod(0o777)
        dump = pathlib.Path(folder) / "dump.sql"
        topology.postgres.program("pg_dump", "-h", topology.postgres.folder, "-U", "twig", "-f", dump, "postgres")
        texts = [dump.read_text()]
    assert '"p49"' in texts[0], "the keys are in the dump"
    texts += [(it.home / "log").read_text() for it in topology.replicas]
    texts.append((topology.postgres.folder / "log").read_text())
    texts.append((topology.nginx.folder / "error.log").read_text())
    for secret in secrets:
        assert not any(secret[16:40] in text for text in texts)


def main():
    wanted = [it for it in checks if it.__name__ in WANTED or not WANTED]
    with Topology(BINARY, 3, TWIG_HTTP_DRAIN_MILLIS="1000") as topology:
        try:
            for function in wanted:
                begun = time.monotonic()
                function(topology)
                print(f"ok  {function.__name__} ({time.monotonic() - begun:.1f} s)", flush=True)
        except BaseException:
            for log in [*(it.home / "log" for it in topology.replicas), topology.nginx.folder / "error.log"]:
                print(f"{log}:\n{log.read_text()[-2000:]}", file=sys.stderr)
            raise
    begun = time.monotonic()
    tables_are_migrated_under_load()
    print(f"ok  tables_are_migrated_under_load ({time.monotonic() - begun:.1f} s)", flush=True)
    print(f"replicas: {len(wanted) + 1} passed, 0 failed")


main()
