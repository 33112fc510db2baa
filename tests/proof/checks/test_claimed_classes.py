"""Whoever catches an error or asks for a class gets the class itself, whatever another one calls itself."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from pydantic import TypeAdapter, ValidationError

from tests.proof.trial import Trial
from trued.model import Contract, ExamplesCheck, Outcomes
from trued.proof.checks.examples import run_examples
from trued.proof.probes.answer import lineage_of
from trued.proof.room.bench import CaseSelection
from trued.proof.room.clean_room import clean_room
from trued.proof.room.interpreter import find_interpreter

FILES: dict[str, str | None] = {
    "kit/__init__.py": "from .errors import Bad\nfrom ._made import Made\n",
    "kit/errors.py": "class Bad(Exception): pass\n\nclass Worse(Bad): pass\n",
    "kit/_made.py": "def make(name):\n    class Inner(Exception): pass\n    Inner.__name__ = name\n    return Inner\n\n"
    "Made = type('Made', (Exception,), {})\n",
    "honest.py": "import decimal, json, kit\nfrom kit.errors import Worse\n\n"
    "def worse(): raise Worse\n\ndef made(): raise kit.Made\n\ndef no_json(): json.loads('{')\n\n"
    "def no_number(): decimal.Decimal('x')\n\ndef number(): return decimal.Decimal(1)\n\n"
    "async def late():\n    import asyncio\n    raise asyncio.TimeoutError\n\n"
    "def no_zone():\n    import zoneinfo\n    zoneinfo.ZoneInfo('No/Where')\n",
    "planted.py": "import json, zoneinfo\n\nclass JSONDecodeError(ValueError): pass\n\n"
    "class ZoneInfoNotFoundError(KeyError): __module__ = 'zoneinfo._common'\n\n"
    "json.JSONDecodeError, zoneinfo.ZoneInfoNotFoundError = JSONDecodeError, ZoneInfoNotFoundError\n\n"
    "class Loud(KeyError):\n    __module__ = 'zoneinfo'\n    def __str__(self): return 'x'\n\nzoneinfo.Loud = Loud\n\n"
    "def no_json(): raise JSONDecodeError\n\ndef no_zone(): raise ZoneInfoNotFoundError\n\ndef loud(): raise Loud\n",
    "liar.py": "import decimal, http, json.decoder, kit.errors\n\n"
    "class Bad(Exception): __module__ = 'kit.errors'\n\ndef bad(): raise Bad\n\n"
    "class Unloaded(Exception): __module__ = 'kit.other'\n\ndef unloaded(): raise Unloaded\n\n"
    "class ValueError(Exception): __module__ = 'builtins'\n\ndef value(): raise ValueError\n\n"
    "def local():\n    class Bad(Exception): pass\n    raise Bad\n\n"
    "class Status(int):\n    def __str__(self): return '404'\n\n"
    "Status.__module__, Status.__qualname__ = 'http', 'HTTPStatus'\nhttp.HTTPStatus = Status\n\n"
    "def status(): return Status(200)\n\n"
    "class Number:\n    __module__, __qualname__ = 'decimal', 'Decimal'\n    def __str__(self): return '1'\n\n"
    "decimal.Decimal = Number\n\ndef number(): return Number()\n",
    "patched.py": "import http\n\nhttp.HTTPStatus.__str__ = lambda self: '404'\n\n"
    "def status(): return http.HTTPStatus(200)\n",
}
HONEST: list[dict[str, Any]] = [
    *({"call": "honest:worse", "raises": name} for name in ("kit.errors:Bad", "kit:Bad", "Bad", "Worse", "Exception")),
    *({"call": "honest:made", "raises": name} for name in ("kit:Made", "Made", "kit._made:Made")),
    *({"call": "honest:no_json", "raises": name} for name in ("json.decoder:JSONDecodeError", "ValueError")),
    *({"call": "honest:no_json", "raises": name} for name in ("json:JSONDecodeError", "json.JSONDecodeError")),
    *({"call": "honest:late", "raises": name} for name in ("asyncio.TimeoutError", "TimeoutError")),
    {"call": "honest:no_zone", "raises": "zoneinfo.ZoneInfoNotFoundError"},
    *({"call": "honest:no_number", "raises": name} for name in ("decimal:InvalidOperation", "ArithmeticError")),
    {"call": "honest:number", "returns": {"$object": "decimal.Decimal"}},
]
FALSE: list[dict[str, Any]] = [
    *({"call": "liar:bad", "raises": name} for name in ("kit.errors:Bad", "kit:Bad")),
    *({"call": "liar:unloaded", "raises": name} for name in ("kit.other:Unloaded",)),
    *({"call": "liar:local", "raises": name} for name in ("kit.errors:Bad", "Bad")),
    *({"call": "planted:no_json", "raises": name} for name in ("json.JSONDecodeError", "json.decoder:JSONDecodeError")),
    *(
        {"call": "planted:no_zone", "raises": f"{name}.ZoneInfoNotFoundError"}
        for name in ("zoneinfo", "zoneinfo._common")
    ),
    {"call": "planted:loud", "raises": "zoneinfo.Loud"},
    {"call": "liar:value", "raises": "ValueError"},
    {"call": "liar:status", "returns": 200},
    {"call": "liar:number", "returns": {"$object": "decimal.Decimal"}},
    {"call": "patched:status", "returns": 200},
]


@pytest.mark.spec("LAW-7")
async def test_a_class_is_known_by_itself_and_not_by_its_name(tmp_path: Path) -> None:
    trial = Trial(tmp_path, FILES, [{"id": "a", "text": "b"}])
    await trial.workspace.begin()
    contract = Contract(base=trial.workspace.base, requirements=())
    check = ExamplesCheck.model_validate({"cases": [*HONEST, *FALSE]})
    async with clean_room(trial.workspace, contract, contract.base, await find_interpreter()) as (bench, _):
        fact = await run_examples(check, bench, CaseSelection())
    passed = [one.outcome is Outcomes.PASSED for one in fact.tried]
    assert passed == [True] * len(HONEST) + [False] * len(FALSE), fact.tried


@pytest.mark.parametrize(
    ("fails", "names"),
    [
        (lambda: click.UUID.convert("x", None, None), {"click.UsageError", "click.exceptions.UsageError"}),
        (lambda: TypeAdapter(int).validate_python("x"), {"pydantic.ValidationError", "pydantic_core.ValidationError"}),
    ],
    ids=["imported", "imported on demand"],
)
def test_an_error_of_a_package_has_the_names_that_the_package_offers(fails: Callable[[], Any], names: set[str]) -> None:
    with pytest.raises((click.UsageError, ValidationError)) as caught:
        fails()
    assert names <= {*lineage_of(caught.value)}
