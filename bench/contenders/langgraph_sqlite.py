"""LangGraph: a node in a loop, one super-step each, SQLite saver, durability "sync"."""

from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from bench.contenders.measure import PAYLOAD, arguments, measure


class State(TypedDict):
    number: int
    value: str


def main() -> None:
    steps, folder = arguments()

    def work(state: State) -> State:
        return {"number": state["number"] + 1, "value": PAYLOAD}

    graph = StateGraph(State)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    graph.add_conditional_edges("work", lambda state: END if state["number"] >= steps else "work", ["work", END])
    with SqliteSaver.from_conn_string(str(folder / "langgraph.db")) as saver:
        saver.setup()
        app = graph.compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "bench"}, "recursion_limit": steps + 10}
        measure(lambda: app.invoke({"number": 0, "value": ""}, config, durability="sync"))


if __name__ == "__main__":
    main()
