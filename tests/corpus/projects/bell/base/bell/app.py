import json


def answer(status, data):
    return status, {"Content-Type": "application/json"}, json.dumps(data)


def respond(method, target, body, notes):
    if target == "/health":
        return answer(200, {"ok": True})
    if target == "/notes" and method == "GET":
        return answer(200, notes)
    return answer(404, {"error": "no such page"})
