"""The domain's values: frozen, without I/O. Every public name can be imported from here.

A module is loaded when one of its names is first imported. A short command needs few of these classes, and building
all of them would take longer than the command itself.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers and readers; at run time `__getattr__` finds the same names
    from trued.model.checks import (
        BrowserCheck,
        CallCase,
        Case,
        Check,
        CommandCheck,
        DependenciesCheck,
        ExamplesCheck,
        HttpCase,
        HttpRequest,
        ManualCheck,
        Network,
        PageAction,
        PageBefore,
        RunCase,
        TestsCheck,
        is_node,
    )
    from trued.model.evidence import (
        Author,
        Basis,
        Contract,
        Evidence,
        FactNote,
        Figures,
        Judged,
        Lacks,
        MissingFromEnvironment,
        Outcome,
        Picture,
        Shot,
        Tried,
        Verdict,
    )
    from trued.model.grades import Answer, Grade, Outcomes, Severity, Status
    from trued.model.records import (
        Approval,
        Comment,
        Delivery,
        Event,
        PersonAnswer,
        ProcessedDecisions,
        Question,
        RecordedState,
        RunRecord,
        TakenComments,
        Way,
    )
    from trued.model.replies import Disputes, Finding, Reply, Spoken
    from trued.model.requirements import (
        EXISTING_TESTS,
        Criterion,
        CriterionKind,
        Environment,
        Goal,
        LostCases,
        Plan,
        Ready,
        Requirement,
        Requirements,
        Serve,
        Source,
        Task,
        Ticket,
    )
    from trued.model.settings import (
        AgentNetwork,
        Commands,
        ForgeSettings,
        Limit,
        LoginPolicy,
        Rate,
        Role,
        RoleForm,
        RunLimits,
        SandboxLevel,
        Settings,
        TeamSettings,
        TicketSettings,
    )
    from trued.model.value import Value
else:
    from importlib import import_module

    NAMES = {
        "checks": """
            BrowserCheck CallCase Case Check CommandCheck DependenciesCheck ExamplesCheck HttpCase HttpRequest
            ManualCheck Network PageAction PageBefore RunCase TestsCheck is_node
        """,
        "evidence": """
            Author Basis Contract Evidence FactNote Figures Judged Lacks MissingFromEnvironment Outcome Picture Shot
            Tried Verdict
        """,
        "grades": """
            Answer Grade Outcomes Severity Status
        """,
        "records": """
            Approval Comment Delivery Event PersonAnswer ProcessedDecisions Question RecordedState RunRecord
            TakenComments Way
        """,
        "replies": """
            Disputes Finding Reply Spoken
        """,
        "requirements": """
            EXISTING_TESTS Criterion CriterionKind Environment Goal LostCases Plan Ready Requirement Requirements Serve
            Source Task Ticket
        """,
        "settings": """
            AgentNetwork Commands ForgeSettings Limit LoginPolicy Rate Role RoleForm RunLimits SandboxLevel
            Settings TeamSettings TicketSettings
        """,
        "value": """
            Value
        """,
    }
    _MODULES = {name: module for module, names in NAMES.items() for name in names.split()}

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        return value
