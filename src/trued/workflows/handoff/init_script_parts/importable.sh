importable() {
  "$1" - <<'END'
import importlib, pathlib, sys
aside = {"tests", "test", "docs", "examples", "scripts", "tools", "build", "dist", "node_modules", "migrations"}
roots = [root for root in ("src", ".") if pathlib.Path(root).is_dir()]
sys.path[:0] = roots
names = {one.parent.name for root in roots for one in pathlib.Path(root).glob("*/__init__.py")} - aside - {"src"}
names = sorted(name for name in names if name.isidentifier())
for name in names:
    try:
        importlib.import_module(name)
    except (Exception, SystemExit) as error:
        sys.exit(f"init.sh: the package {name} cannot be imported: {type(error).__name__}: {error}")
print(f"  Python {sys.version.split()[0]}" + "".join(f", imports {name}" for name in sorted(names)))
END
}
