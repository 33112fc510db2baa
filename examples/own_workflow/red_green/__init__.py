"""Red-green: one agent writes tests that fail, another builds until they pass."""

from trued import Rounds, WorkflowDescriptor

RED_GREEN = WorkflowDescriptor(
    name="red-green",
    flow="red_green.flow:red_green",
    roles=("test-author", "builder"),
    role_folder="red_green:roles",
    rounds=Rounds("calls of the builder, all tasks", roles=("builder",)),
)
