"""Which files may hold tests, by their ending."""

TEST_FILES = (".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", ".go", ".rb")
