"""The starter trued.toml: every setting with its default, commented out."""

AGENTS = """\
# [agents]                   # default: an installed agent is detected, see `trued agents`
# default = "claude"                         # or codex, gemini, opencode, qwen, claude:opus, …
# examiner = "codex"                         # from another vendor: its cases need no approval
# purple-team-b = "command:my-agent --json"  # any program that speaks the protocol

# [login]                    # how an agent may log in: auto | key | subscription | none
# default = "auto"           # what the agent itself would take: a key of your environment, else your subscription
# claude = "key"

"""
STARTER = """\
# Settings of trued for this project. A flag or a TRUED_… variable wins over this file, this file over your own.
# Commented lines show the defaults.

# workflow = "purple"        # default by input: plan → purple, ticket → ticket, specification → handoff, words → solo
# rounds = 3                 # attempts for a chunk, a feature or a ticket
# commit_author = "user"     # commits bear your name and the role as a trailer; "role": the role is the author
# progress = "progress.txt"  # file name of a handoff's progress notes
# coverage_target = 80       # per cent of lines; what a handoff tells its coders
# cap = 4                    # agents at work at the same time
# parallel = 1               # tasks of a team at the same time
# sandbox = "auto"           # auto | bubblewrap | landlock | none
# network = "host"           # of agents: none | loopback | host; checks never have any
# readable = []              # folders that agents may read beyond the system's and their clone
# variables = []             # environment variables that agents may see
# prompts = "policy"         # what a role's tools do not allow: policy refuses, ask asks you
# wait = true                # for a provider's rate limit to pass; false: the run ends and can be resumed
# idle_s = 600               # an agent without output for this long is stopped
# wall_s = 3600              # an agent that works longer than this is stopped

# [limits]                   # none by default; your own file and this one: the lower counts. A flag: --limit usd=5
# usd = 20.0                 # what a run may cost
# tokens = "5M"
# calls = 60
# time = "3h"                # of all agents' work, added up
# feature = {usd = 9.0}      # each feature of it, with all of its tasks
# task = {usd = 5.0}         # each task of it
# roles = {purple-team-b = {usd = 8.0}}

# [environment]              # of checks, if a requirements file has none
# prepare = ["python -m pip install -e ."]   # once a commit, with the network; checks have none
# packages = []              # beyond what the project declares
# variables = []             # environment variables that checks may see
# services = [{command = ["redis-server", "--port", "{port}"], port_env = "REDIS_PORT"}]

# [serve]                    # for pages, previews and HTTP cases, if a requirements file has none
# command = ["npm", "start"] # gets its port in a variable, and in place of {port}
# port_env = "PORT"
# ready = {path = "/", within_s = 20.0}

# [commands]                 # of the project, if the detected ones are wrong; used by pipeline and team
# build = "make"
# test = "make test"
# start = "make run"

# [team]
# attempts = 10              # of dev and QA on one task
# heal = true                # false: one attempt
# uat = {after_feature = true, after_all = true, cycles = 3}
# roles = {qa = true, uat = true, techlead = true}   # false: nobody plays it; the report lists what is unchecked

# [forge]                    # where pull requests go; addresses and tokens are set in your own file only
# kind = "auto"              # auto: GitHub if the remote is there, else a file · github · local
# repository = "owner/name"  # if it is not the remote's

# [tickets]
# kind = "auto"              # auto: by the look of its name · file · github · jira
# project = "SHOP"           # of numbers alone: owner/name on GitHub, the letters before the number on Jira
# acceptance = ["Acceptance criteria"]       # fields of Jira that hold criteria

{agents}
# [roles]                    # another role file for a role of the workflow, by its name: see `trued roles`
# purple-team-b = "my-reviewer"
"""


def starter_settings(agents: str = "") -> str:
    """The text of the file; `agents` replaces the commented [agents] table."""
    return STARTER.replace("{agents}\n", agents or AGENTS)
