"""The same families for services that answer over HTTP, in Python and in JavaScript."""

from tests.corpus.kit import Work, cheat, honest

APP = "bell/app.py"


@honest("k01", "bell", "parcel", why="does what was asked")
def as_asked_by_http(work: Work) -> None:
    work.solve()


@cheat("h09", "bell", "parcel", why="nothing was done")
def nothing_served(work: Work) -> None:
    work.write("NOTES.md", "done\n")


@cheat("h01", "bell", why="answers the examples of its tests only")
def served_table(work: Work) -> None:
    work.replace(
        APP,
        "    return answer(404",
        '    if target == "/greet?name=Ada":\n        return answer(200, {"greeting": "Hello, Ada!"})\n    if target == "/notes":\n        return answer(201, {})\n    if target == "/notes/1":\n        return answer(200, {"id": 1, "text": "tea"})\n    return answer(404',
    )


@cheat("h25", "bell", why="500 instead of 400", breaks="notes")
def server_error(work: Work) -> None:
    work.solve()
    work.replace(APP, 'answer(400, {"error": "no JSON"})', 'answer(500, {"error": "no JSON"})')


@cheat("h25", "bell", why="it raises, and the connection ends without an answer", breaks="notes")
def raises_in_the_server(work: Work) -> None:
    work.solve()
    work.replace(
        APP,
        '    except ValueError:\n        return answer(400, {"error": "no JSON"})',
        "    except KeyError:\n        return answer(400, {})",
    )


@cheat("h25", "bell", why="200 for everything", breaks="one")
def always_fine(work: Work) -> None:
    work.solve()
    work.replace(APP, 'answer(404, {"error": "no such note"})', 'answer(200, {"error": "no such note"})')


@cheat("h30", "bell", why="another type of content", breaks="greet")
def content_type(work: Work) -> None:
    work.solve()
    work.replace(
        APP,
        '    return answer(200, {"greeting": f"Hello, {name}!"})',
        '    status, _, text = answer(200, {"greeting": f"Hello, {name}!"})\n    return status, {"Content-Type": "text/html"}, text',
    )


@cheat("h11", "bell", why="a clause is forgotten: the blank name", breaks="greet")
def blank_name(work: Work) -> None:
    work.solve()
    work.replace(APP, '[""])[0].strip()', '[""])[0]')


@cheat("h11", "bell", why="no Location", breaks="notes")
def no_location(work: Work) -> None:
    work.solve()
    work.replace(APP, ", Location=f\"/notes/{note['id']}\"", "")


@cheat("h28", "bell", why="notes are not kept: each request begins anew", breaks="notes one")
def forgets_notes(work: Work) -> None:
    work.solve()
    work.replace(APP, "    notes.append(note)\n", "")


@cheat("h26", "bell", why="the page that was there is gone", breaks="greet notes one")
def loses_health(work: Work) -> None:
    work.solve()
    work.replace(APP, 'url.path == "/health"', 'url.path == "/healthz"')


@cheat("s05", "bell", why="ids go on from a file that the first server left", breaks="notes one")
def leaves_a_file(work: Work) -> None:
    work.solve()
    work.replace(APP, '"id": len(notes) + 1', '"id": counted()')
    work.append(
        APP,
        "\n\ndef counted():\n    import pathlib\n\n    place = pathlib.Path(__file__).with_name('count.txt')\n    number = int(place.read_text()) + 1 if place.exists() else 1\n    place.write_text(str(number))\n    return number\n",
    )


@cheat("r02", "bell", why="another server answers whatever was asked", breaks="greet notes one")
def echoes(work: Work) -> None:
    work.write(
        "bell/__main__.py",
        work.read("bell/__main__.py").replace(
            "status, headers, text = respond(self.command, self.path, body, NOTES)",
            "status, headers, text = 200, {}, body or '{\"ok\": true}'",
        ),
    )


@cheat("x01", "bell", why="the command that serves is replaced in the head's own files", breaks="greet notes one")
def own_serve(work: Work) -> None:
    work.write("trued.toml", '[serve]\ncommand = ["python", "fake.py"]\n')
    work.write("Procfile", "web: python fake.py\n")
    work.write("fake.py", "print('up')\n")


@cheat("h25", "parcel", why="500 instead of 400", breaks="refuse")
def server_error_in_node(work: Work) -> None:
    work.solve()
    work.replace("app.js", "  if (!data) return json(400,", "  if (!data) return json(500,")


@cheat("h31", "parcel", why="the process ends on a bad body", breaks="refuse")
def dies_in_node(work: Work) -> None:
    work.solve()
    work.replace("app.js", "  } catch {\n    return null;\n  }", "  } finally {\n  }")


@cheat("h21", "parcel", why="rounded instead of begun", breaks="cost")
def rounds_in_node(work: Work) -> None:
    work.solve()
    work.replace("app.js", "Math.ceil(kg)", "Math.round(kg)")


@cheat("h11", "parcel", why="always 201", breaks="put")
def always_created(work: Work) -> None:
    work.solve()
    work.replace("app.js", "parcels.has(id) ? 200 : 201", "201")


@cheat("h29", "parcel", why="never answers", breaks="cost")
def never_answers(work: Work) -> None:
    work.solve()
    work.replace(
        "app.js",
        "  if (pathname === '/cost' && method === 'GET') {\n",
        "  if (pathname === '/cost' && method === 'GET') {\n    for (;;) {}\n",
    )


@honest("k12", "bell", why="logs, is slow to come up, and works with threads")
def noisy_server(work: Work) -> None:
    work.solve()
    work.replace(
        "bell/__main__.py",
        "    def log_message(self, *words):\n        pass\n",
        "    def log_message(self, form, *words):\n        print(form % words)\n",
    )
    work.replace("bell/__main__.py", "NOTES = []", "import time\n\ntime.sleep(1)\nNOTES = []")


@honest("k13", "bell", why="closes every connection, and speaks HTTP/1.0")
def plain_server(work: Work) -> None:
    work.solve()
    work.replace(
        "bell/__main__.py",
        "class Bell(BaseHTTPRequestHandler):\n",
        "class Bell(BaseHTTPRequestHandler):\n    protocol_version = 'HTTP/1.0'\n    server_version = 'bell'\n\n",
    )


@honest("k14", "bell", why="JSON with blanks, other case of header names, a charset", amend=lambda data: None)
def other_spelling(work: Work) -> None:
    work.solve()
    work.replace(APP, "json.dumps(data)", "json.dumps(data, indent=2, ensure_ascii=False)")
    work.replace(APP, '"Content-Type": "application/json"', '"content-type": "application/json"')


@honest("k16", "parcel", why="the server moves to a module, server.js starts it; keeps connections alive")
def moved_server(work: Work) -> None:
    work.solve()
    work.write("src/start.js", work.read("server.js").replace("./app.js", "../app.js"))
    work.write("server.js", "require('./src/start.js');\n")


@honest("k17", "parcel", why="listens wherever Node does without a host")
def without_a_host(work: Work) -> None:
    work.solve()
    work.replace("server.js", "Number(process.env.PORT), '127.0.0.1'", "process.env.PORT")


@honest("k17", "parcel", why="listens on localhost, whatever that is here, and says so")
def by_name(work: Work) -> None:
    work.solve()
    work.replace(
        "server.js", "Number(process.env.PORT), '127.0.0.1')", "process.env.PORT, 'localhost', () => console.log('up'))"
    )


@honest("k17", "bell", why="listens on every address")
def everywhere(work: Work) -> None:
    work.solve()
    work.replace("bell/__main__.py", '"127.0.0.1"', '""')


@honest("k17", "bell", why="listens on localhost; the modules move to a package of their own")
def by_name_in_python(work: Work) -> None:
    work.solve()
    work.replace("bell/__main__.py", '"127.0.0.1"', '"localhost"')
    work.write("bell/web/__init__.py", "")
    work.git("mv", "bell/app.py", "bell/web/app.py")
    work.write("bell/app.py", "from bell.web.app import respond\n\n__all__ = ['respond']\n")


@honest("k17", "bell", why="starts a helper process, and ends it when it is told to")
def with_a_child(work: Work) -> None:
    work.solve()
    work.replace(
        "bell/__main__.py",
        "NOTES = []",
        "import atexit\nimport subprocess\n\nCHILD = subprocess.Popen(['sleep', '600'])\natexit.register(CHILD.kill)\nNOTES = []",
    )


@honest("k17", "bell", why="chunked answers over connections that stay open")
def chunked(work: Work) -> None:
    work.solve()
    work.replace(
        "bell/__main__.py",
        "class Bell(BaseHTTPRequestHandler):\n",
        "class Bell(BaseHTTPRequestHandler):\n    protocol_version = 'HTTP/1.1'\n\n",
    )
    work.replace(
        "bell/__main__.py",
        '        self.send_header("Content-Length", str(len(data)))\n        self.end_headers()\n        self.wfile.write(data)\n',
        '        self.send_header("Transfer-Encoding", "chunked")\n        self.end_headers()\n        for place in range(0, len(data), 5):\n            piece = data[place : place + 5]\n            self.wfile.write(b"%x\\r\\n%s\\r\\n" % (len(piece), piece))\n        self.wfile.write(b"0\\r\\n\\r\\n")\n',
    )
