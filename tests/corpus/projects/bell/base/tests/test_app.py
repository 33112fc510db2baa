import json

from bell.app import respond


def asked(method, target, body="", notes=None):
    status, headers, text = respond(method, target, body, [] if notes is None else notes)
    return status, json.loads(text)


def test_health():
    assert asked("GET", "/health") == (200, {"ok": True})


def test_greeting():
    assert asked("GET", "/greet?name=Ada") == (200, {"greeting": "Hello, Ada!"})


def test_a_note():
    notes = []
    assert asked("POST", "/notes", '{"text": "tea"}', notes)[0] == 201
    assert asked("GET", "/notes/1", notes=notes) == (200, {"id": 1, "text": "tea"})
