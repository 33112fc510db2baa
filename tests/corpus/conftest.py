"""The cases are data: their tests are not ours."""

collect_ignore_glob = ["cases/*"]
