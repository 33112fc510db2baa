"""Each search is found by the name of the reason that people read."""

import inspect
import pkgutil
from importlib import import_module

from trued.proof import prove, unguarded
from trued.proof.verdict import reasons


def test_each_search_has_the_name_of_its_reason_and_prove_asks_it() -> None:
    names = [one.name for one in pkgutil.iter_modules(unguarded.__path__)]
    modules = {name: import_module(f"{unguarded.__name__}.{name}") for name in names}
    searches = [name for name, module in modules.items() if f"for the reason `{name}`" in (module.__doc__ or "")]
    assert {*names} - {*searches} == {"altered_helpers", "change"}
    lines = inspect.getsource(prove)
    for name in searches:
        assert inspect.isfunction(getattr(reasons, name))
        assert inspect.iscoroutinefunction(getattr(modules[name], name))
        assert f"await {name}(tried)" in lines
