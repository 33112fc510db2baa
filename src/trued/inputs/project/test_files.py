"""The suffixes of files that may contain tests."""

TEST_FILES = (".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", ".go", ".rb")
