"""Runs inside the sandbox: the script that a plain interpreter reads from its standard input to make one call.

The call is at the top level of the script, as if somebody had typed it, so that the stack of a plain function has no
other frame. The rest of the program, answer.py, is read from file descriptor 5.
"""

import sys

if __name__ == "__main__":
    globals().pop("__file__", None)  # it names no real file, but workers of multiprocessing would try to run that file
    # The current folder is removed, so that imports here find the standard library. The project may have modules with
    # the same names.
    sys.path[:] = [folder for folder in sys.path if folder]
    with open(5, encoding="utf-8") as file:
        library = {}  # type: ignore[var-annotated]
        exec(compile(file.read(), "<stdin>", "exec"), library)  # noqa: S102
    call = library["AnsweredCall"]()
    try:
        call.returned(call.find()(*call.arguments, **call.keywords))
    except BaseException as error:
        call.raised(error)
    call.send_report()
