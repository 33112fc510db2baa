"""Start commands are found in a project's files: candidates, the likeliest first."""

import pytest

from trued.inputs.project.start import start_commands

FLASK = "from flask import Flask\napp = Flask(__name__)\n"
FACTORY = "from flask import Flask\n\ndef create_app(config=None):\n    return Flask(__name__)\n"
PORT = "import os\nport = int(os.environ.get('SHOP_PORT', 80))\nserver.serve_forever()\n"


def found(files: dict[str, str], said: str = "") -> list[tuple[str, str]]:
    return [(one.command_line, one.serve.port_env) for one in start_commands(files, files.get, said)]


@pytest.mark.spec("DAY-3")
@pytest.mark.parametrize(
    ("files", "command", "variable"),
    [
        ({"Procfile": "web: gunicorn shop:app -b 127.0.0.1:$PORT\n"}, "gunicorn shop:app -b 127.0.0.1:{port}", "PORT"),
        ({"package.json": '{"scripts": {"start": "node server.js", "dev": "vite"}}'}, "npm start", "PORT"),
        ({"package.json": '{"scripts": {"dev": "vite"}}'}, "npm run dev -- --port {port}", "PORT"),
        (
            {"package.json": '{"scripts": {"start": "node s.js"}}', "s.js": "app.listen(process.env.WEB_PORT)"},
            "npm start",
            "WEB_PORT",
        ),
        ({"server.mjs": "createServer(f).listen(process.env.PORT)"}, "node server.mjs", "PORT"),
        ({"manage.py": ""}, "python manage.py runserver --noreload 127.0.0.1:{port}", "PORT"),
        ({"app.py": FLASK}, "python -m flask --app app:app run --port {port}", "PORT"),
        ({"src/shop/__init__.py": FACTORY}, "python -m flask --app shop:create_app run --port {port}", "PORT"),
        ({"api/main.py": "api = FastAPI()\n"}, "python -m uvicorn api.main:api --port {port}", "PORT"),
        ({"serve.py": PORT}, "python serve.py", "SHOP_PORT"),
        ({"shop/__main__.py": "from shop.web import main\nmain()", "shop/web.py": PORT}, "python -m shop", "SHOP_PORT"),
        ({"Makefile": "run:\n\tgo run . -port $(PORT)\n"}, "make run PORT={port}", "PORT"),
        (
            {"public/index.html": "<p>"},
            "python -m http.server {port} --bind 127.0.0.1 --directory public",
            "PORT",
        ),
    ],
)
def test_the_start_command_is_found_in_the_files_of_each_kind_of_project(
    files: dict[str, str], command: str, variable: str
) -> None:
    assert found(files)[0] == (command, variable)


@pytest.mark.spec("DAY-3")
def test_what_needs_a_shell_or_is_no_server_is_no_candidate_and_the_users_own_comes_first() -> None:
    assert found({"Procfile": "web: cd shop && ./run\n", "tool.py": "print(1)", "tests/app.py": FLASK}) == []
    assert [words for words, _ in found({"app.py": FLASK}, "python -m shop --port $PORT")] == [
        "python -m shop --port {port}",
        "python -m flask --app app:app run --port {port}",
    ]
