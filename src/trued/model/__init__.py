"""The domain's values: frozen, without I/O. Every public name can be imported from here."""

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
    Contract,
    Evidence,
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
from trued.model.grades import Answer, Grade, Outcomes, Severity, Status, Value
from trued.model.records import Approval, Event, Heard, Question, RunRecord, RunState, Way
from trued.model.replies import Finding, Reply, Spoken
from trued.model.requests import (
    EXISTING_TESTS,
    Criterion,
    CriterionKind,
    Environment,
    Goal,
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
    SandboxLevel,
    Settings,
    Spending,
    TeamSettings,
    TicketSettings,
)
