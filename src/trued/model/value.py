"""Value: the base class of all values, and two ways to leave out fields when a value is serialized."""

from typing import Any

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer


class Value(BaseModel):
    """A frozen value that refuses unknown fields."""

    # defer_build: a short command needs only a few of these classes
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def newer_fields(*names: str) -> Any:
    """A serializer that leaves out these fields if they are empty, so that values of older versions keep their hashes.

    Assign the serializer to any name in the class body. The inner function's first parameter is the value; pydantic
    requires that it is called `self`.
    """

    def write_as_before(self: Value, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        newer = {*names, *(fields[name].alias for name in names)}
        return {name: part for name, part in write(self).items() if part or name not in newer}

    return model_serializer(mode="wrap")(write_as_before)


def only_given_fields() -> Any:
    """A serializer that writes only the fields that were given. Without it, a case that expects null would look like a
    case that expects nothing."""

    def write_given(self: Value, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        names = {fields[name].alias or name for name in self.model_fields_set}
        return {name: part for name, part in write(self).items() if name in names}

    return model_serializer(mode="wrap")(write_given)
