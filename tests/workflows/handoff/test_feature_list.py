"""feature_list.json: both forms are read, a mistake is reported with its line, and the same list gives the same
bytes."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from trued.errors import BadInput
from trued.model import ManualCheck, TestsCheck
from trued.workflows.handoff.feature_list import (
    NOTE_LIMIT,
    TOTALS,
    Feature,
    FeatureList,
    blocked,
    is_feature_list,
    parse_feature_list,
    render,
    requirement_of,
    schema,
    trimmed,
    upcoming,
)

FULL = {
    "total_features": 40,
    "completed": 39,
    "features": [
        {
            "id": "chain",
            "category": "functional",
            "description": "Validators run one after the other",
            "priority": "critical",
            "steps": ["Make a chain of two", "Both were called"],
            "passes": False,
            "tests_passing": 15,
            "tests_total": 20,
            "coverage": 88.4,
            "assigned_to": "coder",
            "started_at": "2026-01-05T09:00:00Z",
            "last_tested": "2026-01-05T10:15:00Z",
            "agent_notes": "three edges still fail",
            "test_command": "python -m pytest tests/test_chain.py",
            "verification_method": "automated",
            "verification_tool": "pytest",
        },
        {
            "id": "pump",
            "description": "The pump can be started on the page",
            "priority": "high",
            "passes": True,
            "verification_method": "e2e",
            "test_command": "python -m pytest tests/e2e",
            "depends_on": ["chain"],
        },
    ],
}
PLAIN = {
    "features": [
        {"category": "functional", "description": "A new chat is empty", "steps": ["Click", "Look"], "passes": False},
        {"category": "style", "description": "It is blue", "steps": [], "passes": True},
    ]
}


def read(value: object) -> FeatureList:
    return parse_feature_list(json.dumps(value, indent=1), "feature_list.json")


def ids(*names: str, **more: dict[str, Any]) -> FeatureList:
    return FeatureList(features=tuple(Feature(id=name, description=name, **more.get(name, {})) for name in names))


@pytest.mark.spec("HAND-2")
def test_the_full_form_is_read_and_its_totals_are_counted_not_believed() -> None:
    found = read(FULL)
    assert found["chain"].coverage == 88.4
    assert found["pump"].depends_on == ("chain",)
    written = json.loads(render(found))
    assert {name: written[name] for name in TOTALS} == {
        "total_features": 2,
        "completed": 1,
        "in_progress": 1,
        "failed": 0,
        "not_started": 0,
    }


@pytest.mark.spec("HAND-2")
@pytest.mark.parametrize("form", [PLAIN, PLAIN["features"]], ids=["object", "bare list"])
def test_the_plain_form_is_completed(form: object) -> None:
    found = read(form)
    assert [one.id for one in found.features] == ["feat_001", "feat_002"]
    written = json.loads(render(found))["features"][0]
    assert written["verification_method"] == "automated"
    assert written["steps"] == ["Click", "Look"]
    promised = set(Feature.model_fields) - {"more", "line", "depends_on"}
    assert promised <= set(written)


@pytest.mark.spec("HAND-2")
def test_made_ids_avoid_the_given_ones() -> None:
    found = read([{"description": "a"}, {"id": "feat_001", "description": "b"}, {"id": 7, "description": "c"}])
    assert [one.id for one in found.features] == ["feat_001_2", "feat_001", "7"]


@pytest.mark.spec("HAND-2")
def test_every_feature_knows_its_line() -> None:
    text = '{"features": [\n {"description": "a"},\n\n {"description": "b"}]}'
    assert [one.line for one in parse_feature_list(text).features] == [2, 4]


MISTAKES = [
    ("{", "not JSON", 1),
    ("7", "not a list", 1),
    ("{}", "no list of features", 1),
    ('{\n"features": []}', "is empty", 2),
    ("[]", "is empty", 1),
    ('{\n"features": {"a": 1}}', "not a list", 2),
    ('[\n"a"]', "not an object", 2),
    ('[{"description": "a"},\n{"steps": []}]', "no description", 2),
    ('[{\n"description": " "}]', "no description", 2),
    ('[{"description": "a",\n"passes": "yes"}]', "passes", 2),
    ('[{"description": "a",\n"passes": null}]', "passes", 2),
    ('[{"description": "a",\n"steps": "click"}]', "steps", 2),
    ('[{"description": "a",\n"steps": ["b",\n7]}]', "steps", 3),
    ('[{"description": "a",\n"tests_total": "5"}]', "tests_total", 2),
    ('[{"description": "a",\n"tests_total": -1}]', "tests_total", 2),
    ('[{"description": "a",\n"coverage": "88%"}]', "coverage", 2),
    ('[{"description": "a",\n"priority": true}]', "priority", 2),
    ('[{"description": "a",\n"verification_method": "automatic"}]', "did you mean automated?", 2),
    ('[{"description": "a",\n"status": "pending"}]', "known are not_started", 2),
    ('[{"description": "a",\n"id": "a b"}]', "is not a valid id", 2),
    ('[{"description": "a",\n"id": "../x"}]', "is not a valid id", 2),
    ('[{"description": "a",\n"id": "x.lock"}]', "is not a valid id", 2),
    ('[{"description": "a",\n"id": "-x"}]', "is not a valid id", 2),
    ('[{"description": "a",\n"id": true}]', "id", 2),
    ('[{"id": "a", "description": "a"},\n{"id": "a", "description": "b"}]', "twice, first on line 1", 2),
    ('[{"id": "add", "description": "a",\n"depends_on": ["ad"]}]', "did you mean add?", 2),
    ('[{"id": "a", "description": "a",\n"depends_on": ["a"]}]', "a → a", 2),
    ('[{"description": "a",\n"test_command": "x\\u0000"}]', "NUL", 2),
    ('[{"description": "a",\n"description": "b"}]', "twice", 2),
]


@pytest.mark.spec("HAND-2")
@pytest.mark.parametrize(("text", "sentence", "line"), MISTAKES, ids=[one[0][:40] for one in MISTAKES])
def test_a_mistake_is_one_sentence_with_its_line(text: str, sentence: str, line: int) -> None:
    with pytest.raises(BadInput) as caught:
        parse_feature_list(text, "features.json")
    assert caught.value.where == f"features.json:{line}"
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.spec("HAND-2")
def test_a_ring_of_features_is_told_in_the_order_of_waiting() -> None:
    text = """[{"id": "a", "description": "a", "depends_on": ["b"]},
    {"id": "b", "description": "b", "depends_on": ["c"]},
    {"id": "c", "description": "c", "depends_on": ["a"]}]"""
    with pytest.raises(BadInput, match=r"a → b → c → a|b → c → a → b|c → a → b → c"):
        parse_feature_list(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=5),
    lambda part: st.lists(part, max_size=2) | st.dictionaries(st.text(max_size=4), part, max_size=2),
    max_leaves=4,
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ENTRY = st.fixed_dictionaries(
    {"description": TEXT.filter(str.strip)},
    optional={
        "category": TEXT | st.none(),
        "priority": st.sampled_from(["critical", "low", "urgent", "P2", "3", ""]) | st.integers() | st.floats(0, 9),
        "steps": st.lists(TEXT, max_size=3),
        "passes": st.booleans(),
        "status": st.sampled_from(["not_started", "in_progress", "completed", "failed"]) | st.none(),
        "tests_passing": st.integers(0, 50),
        "coverage": st.none() | st.floats(0, 100),
        "started_at": st.none() | TEXT,
        "agent_notes": TEXT,
        "verification_tool": TEXT,
        "owner": JSON,
        "more": JSON,
        "line": JSON,
    },
)


@pytest.mark.spec("HAND-2")
@settings(max_examples=50)
@given(st.lists(ENTRY, min_size=1, max_size=4), st.dictionaries(TEXT.filter(lambda key: key != "features"), JSON))
def test_what_was_written_is_read_and_written_again_alike(entries: list[dict[str, Any]], top: dict[str, Any]) -> None:
    once = render(read({**top, "features": entries}))
    assert render(parse_feature_list(once, "x.json")) == once
    assert once.endswith("}\n")
    written = json.loads(once)
    for entry, kept in zip(entries, written["features"], strict=True):
        assert [key for key in kept if key in ("owner", "more", "line")] == [
            key for key in entry if key in ("owner", "more", "line")
        ]
        assert {key: kept[key] for key in ("owner", "more", "line") if key in kept} == {
            key: entry[key] for key in ("owner", "more", "line") if key in entry
        }
    assert list(Draft202012Validator(schema()).iter_errors(written)) == []


@pytest.mark.spec("HAND-2")
def test_words_of_all_languages_stay_readable() -> None:
    assert "größer → 大" in render(read([{"description": "größer → 大"}]))
    broken = Feature(id="a", description="b").model_copy(update={"agent_notes": "half \ud800"})
    assert '"half ?"' in render(FeatureList(features=(broken,)))


@pytest.mark.spec("HAND-2", "HAND-5")
@pytest.mark.parametrize(
    ("given", "state"),
    [
        ({}, "not_started"),
        ({"started_at": "2026-01-05"}, "in_progress"),
        ({"started_at": "2026-01-05", "status": "not_started"}, "not_started"),
        ({"status": "completed"}, "in_progress"),
        ({"status": "failed"}, "failed"),
        ({"status": "failed", "passes": True}, "completed"),
    ],
)
def test_only_passes_makes_a_feature_completed(given: dict[str, Any], state: str) -> None:
    assert Feature(id="a", description="a", **given).state == state


@pytest.mark.spec("HAND-5")
def test_the_next_feature_is_the_most_urgent_then_the_first() -> None:
    features = ids("a", "b", "c", "d", b={"priority": "high"}, c={"priority": "critical", "passes": True})
    assert (one := upcoming(features))
    assert one.id == "b"
    assert (one := upcoming(features, {"b"}))
    assert one.id == "a"
    assert upcoming(features, {"a", "b", "d"}) is None


@pytest.mark.spec("HAND-5")
def test_words_and_numbers_have_one_order_and_unknown_words_stand_in_the_middle() -> None:
    order = [0, "critical", 1, "P1", "High ", "2", "medium", "whenever", "", 3, "low", 10**400]
    ranks = [Feature(id="a", description="a", priority=one).rank for one in order]
    assert ranks == sorted(ranks)


@pytest.mark.spec("HAND-5")
def test_a_feature_waits_for_what_it_depends_on() -> None:
    features = ids("a", "b", b={"priority": "critical", "depends_on": ("a",)})
    assert (one := upcoming(features))
    assert one.id == "a"
    for done in (upcoming(features, {"a"}), upcoming(ids("a", "b", a={"passes": True}, b={"depends_on": ("a",)}))):
        assert done
        assert done.id == "b"


@pytest.mark.spec("HAND-9")
def test_what_needs_a_failed_feature_is_blocked_and_others_go_on() -> None:
    failed = {"status": "failed"}
    features = ids("a", "b", "c", "d", a=failed, b={"depends_on": ("a",)}, c={"depends_on": ("b",)})
    assert (one := upcoming(features))
    assert one.id == "d"
    assert upcoming(features, {"d"}) is None
    assert [(each.feature, each.by) for each in blocked(features)] == [("b", "a"), ("c", "a")]
    assert blocked(features)[1].why == "it needs b, which waits for a, which failed"
    assert blocked(ids("a", "b", a=failed, b={"depends_on": ("a",), "passes": True})) == ()


@pytest.mark.spec("HAND-5", "HAND-9")
@settings(max_examples=50)
@given(st.data())
def test_as_long_as_a_feature_can_be_built_one_is_named(data: st.DataObject) -> None:
    """Whatever fails or passes, the loop ends with every feature completed, failed or blocked."""
    number = data.draw(st.integers(1, 6))
    features = FeatureList(
        features=tuple(
            Feature(
                id=str(one),
                description="x",
                priority=data.draw(st.sampled_from(["high", "low", 2])),
                depends_on=tuple(data.draw(st.sets(st.sampled_from(range(one)).map(str)))) if one else (),
            )
            for one in range(number)
        )
    )
    holding: set[str] = set()
    while (one := upcoming(features, holding)) is not None:
        end = data.draw(st.sampled_from(["passes", "holds", "fails"]))
        if end == "holds":
            holding.add(one.id)
        else:
            features = features.with_feature(one.model_copy(update={"passes": end == "passes", "status": "failed"}))
    waiting = {each.feature for each in blocked(features)}
    for each in features.features:
        assert each.state in ("completed", "failed") or (each.id in holding) != (each.id in waiting)


@pytest.mark.spec("HAND-8")
def test_a_feature_is_a_requirement_in_its_own_words_with_the_check_of_its_method() -> None:
    found = read(FULL)
    chain = requirement_of(found["chain"], "feature_list.json")
    assert chain.text == "Validators run one after the other\nMake a chain of two\nBoth were called"
    assert chain.checks == (TestsCheck(command="python -m pytest tests/test_chain.py"),)
    assert chain.source.line == found["chain"].line > 1
    browser = TestsCheck(command="python -m pytest tests/e2e", network="loopback", e2e=True)
    assert requirement_of(found["pump"]).checks == (browser,)
    by_hand = Feature(id="a", description="It looks right", verification_method="manual", test_command="n/a")
    assert requirement_of(by_hand).checks == (ManualCheck(steps=("It looks right",)),)
    assert requirement_of(Feature(id="a", description="b")).checks == ()


@pytest.mark.spec("HAND-9")
def test_what_a_check_printed_is_trimmed_to_plain_text() -> None:
    assert trimmed("\x1b[31mred\x1b[0m\r\n\x1b]0;title\x07\x9b2Jend\x00 ") == "red\nend"
    long = trimmed("begin" + "x" * 10_000 + "\nE   assert 1 == 2")
    assert len(long) < NOTE_LIMIT + 100
    assert long.startswith("begin")
    assert long.endswith("assert 1 == 2")
    assert "characters left out" in long


@pytest.mark.spec("HAND-2")
def test_the_published_schema_is_the_types_own_and_comes_with_the_package() -> None:
    published = Path(__file__).parents[3] / "docs" / "schemas" / "feature_list.schema.json"
    packaged = files("trued.workflows.handoff") / "feature_list.schema.json"
    assert published.read_bytes() == packaged.read_bytes()
    assert json.loads(published.read_text()) == schema()


@pytest.mark.spec("HAND-2")
def test_the_schema_accepts_both_forms_and_refuses_what_the_reader_refuses() -> None:
    Draft202012Validator.check_schema(schema())
    validator = Draft202012Validator(schema())
    for good in (FULL, PLAIN, PLAIN["features"], json.loads(render(read(FULL)))):
        assert list(validator.iter_errors(good)) == []
    beyond = ("JSON", "is not a valid id", "twice", "did you mean add", "→", "NUL")  # mistakes that no schema can find
    for text, sentence, _ in MISTAKES:
        if not any(word in sentence for word in beyond):
            assert list(validator.iter_errors(json.loads(text))), text


def test_other_json_is_no_feature_list() -> None:
    assert is_feature_list(json.dumps(FULL))
    assert is_feature_list('[{"description": 7}]')
    assert not any(map(is_feature_list, ("# Spec", "{", '{"requirements": []}', '["a"]', "[" * 100_000)))
