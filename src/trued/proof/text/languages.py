"""The endings of files of code, by language."""

CODE = (
    *(".py", ".pyx", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte", ".sh"),
    *(".go", ".rs", ".rb", ".php", ".pl", ".lua", ".java", ".kt", ".scala", ".cs", ".swift", ".ex", ".exs"),
    *(".c", ".h", ".cc", ".cpp", ".hpp"),
)
SCRIPTS = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")  # of JavaScript and TypeScript
WITH_MANIFESTS = (".py", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx", ".go", ".rs", ".rb")  # whose manifests we read


def is_script(path: str) -> bool:
    """Whether the file is JavaScript or TypeScript."""
    return path.endswith(SCRIPTS)
