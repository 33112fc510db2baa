"""A vendor's own description of its API, against which every request and answer of a test is checked."""

import json
from functools import cache
from pathlib import Path
from typing import Any, cast

from openapi_core import Config, OpenAPI
from openapi_core.contrib.werkzeug import WerkzeugOpenAPIRequest, WerkzeugOpenAPIResponse
from openapi_core.exceptions import OpenAPIError
from werkzeug.wrappers import Request, Response

FOLDER = Path(__file__).parent / "described"
DEPTH = 12


class Described:
    """The description of one vendor."""

    def __init__(self, name: str) -> None:
        self.spec: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
        self.api = OpenAPI.from_dict(cast(Any, self.spec), config=Config(spec_validator_cls=cast(Any, None)))

    def against(self, request: Request) -> str:
        """What is wrong with a request; "" if nothing is."""
        try:
            self.api.validate_request(WerkzeugOpenAPIRequest(request))
        except OpenAPIError as error:
            return f"{request.method} {request.full_path}: {error!r} {error.__cause__!r}"
        unknown = set(request.args) - self._parameters(request)
        return f"{request.method} {request.path}: unknown parameters {sorted(unknown)}" if unknown else ""

    def against_answer(self, request: Request, response: Response) -> str:
        """What is wrong with an answer of our fake server."""
        try:
            self.api.validate_response(WerkzeugOpenAPIRequest(request), WerkzeugOpenAPIResponse(response))
        except OpenAPIError as error:
            details = [str(one) for one in getattr(error.__cause__, "schema_errors", [])][:3]
            return f"answer to {request.method} {request.path}: {error!r} {error.__cause__!r} {details}"
        return ""

    def smallest(self, schema: str) -> Any:
        """The smallest value that the schema allows; the server fills in what it knows to make an answer."""
        return self._smallest({"$ref": f"#/components/schemas/{schema}"}, DEPTH)

    def _parameters(self, request: Request) -> set[str]:
        root = self.spec["servers"][0]["url"].rstrip("/")
        for path, item in self.spec["paths"].items():
            pattern = (root + path).split("/")
            given = request.path.split("/")
            alike = all(one == two or one.startswith("{") for one, two in zip(pattern, given, strict=False))
            if alike and len(pattern) == len(given):
                listed = [*item.get("parameters", ()), *item[request.method.lower()].get("parameters", ())]
                return {self._resolved(one)["name"] for one in listed}
        return set()

    def _resolved(self, part: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in part:
            found: Any = self.spec
            for key in part["$ref"].removeprefix("#/").split("/"):
                found = found[key]
            part = found
        return part

    def _smallest(self, schema: dict[str, Any], depth: int) -> Any:
        schema = self._resolved(schema)
        if schema.get("nullable") or depth == 0:
            return None
        if "enum" in schema:
            return schema["enum"][0]
        if "allOf" in schema:
            parts = [self._smallest(one, depth - 1) for one in schema["allOf"]]
            return (
                {key: value for part in parts for key, value in part.items()}
                if isinstance(parts[0], dict)
                else parts[0]
            )
        for choice in ("oneOf", "anyOf"):
            if choice in schema:
                return self._smallest(schema[choice][0], depth - 1)
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if kind == "object":
            known = schema.get("properties", {})
            return {name: self._smallest(known.get(name, {}), depth - 1) for name in schema.get("required", ())}
        if kind == "array":
            return [self._smallest(schema["items"], depth - 1) for _ in range(schema.get("minItems", 0))]
        return _scalar(kind, schema.get("format", ""))


def _scalar(kind: str, form: str) -> Any:
    if kind in ("integer", "number", "boolean"):
        return {"integer": 1, "number": 1, "boolean": False}[kind]
    return {"uri": "http://127.0.0.1/x", "date-time": "2026-01-01T00:00:00Z", "email": "a@example.com"}.get(form, "x")


@cache
def described(name: str) -> Described:
    return Described(name)
