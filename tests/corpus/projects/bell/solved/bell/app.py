import json
from urllib.parse import parse_qs, urlsplit


def answer(status, data, **headers):
    return status, {"Content-Type": "application/json", **headers}, json.dumps(data)


def greet(query):
    name = parse_qs(query).get("name", [""])[0].strip()
    if not name:
        return answer(400, {"error": "name is missing"})
    return answer(200, {"greeting": f"Hello, {name}!"})


def take(body, notes):
    try:
        data = json.loads(body)
    except ValueError:
        return answer(400, {"error": "no JSON"})
    if not isinstance(data, dict) or not isinstance(data.get("text"), str):
        return answer(400, {"error": "text is missing"})
    note = {"id": len(notes) + 1, "text": data["text"]}
    notes.append(note)
    return answer(201, note, Location=f"/notes/{note['id']}")


def one(path, notes):
    number = path.removeprefix("/notes/")
    found = [note for note in notes if str(note["id"]) == number]
    return answer(200, found[0]) if found else answer(404, {"error": "no such note"})


def respond(method, target, body, notes):
    url = urlsplit(target)
    if url.path == "/health":
        return answer(200, {"ok": True})
    if url.path == "/greet" and method == "GET":
        return greet(url.query)
    if url.path == "/notes" and method == "GET":
        return answer(200, notes)
    if url.path == "/notes" and method == "POST":
        return take(body, notes)
    if url.path.startswith("/notes/") and method == "GET":
        return one(url.path, notes)
    return answer(404, {"error": "no such page"})
