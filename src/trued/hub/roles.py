"""The three roles of a hub: owner, worker and asker.

The owner creates the tables. Workers drive runs. Askers act for people: they ask for runs, read everything, answer and
comment.
"""

from psycopg import sql

from trued.errors import StateFailed
from trued.hub.database import RETRY_S, Connection, Database
from trued.hub.queue import prepare_queue
from trued.model.events.people import CommentGiven, QuestionAnswered
from trued.model.events.run import (
    AgentsDetected,
    BranchContinued,
    ForeignRoleUsed,
    LimitLowered,
    LimitRaised,
    RunBegan,
    TicketIncomplete,
    WorkingTreeDirty,
)

WORKER, ASKER = "trued_worker", "trued_asker"
# The events that an asker's commands record. With events of other kinds, an asker could forge a worker's results.
SAID_BY_ASKERS = (
    *(RunBegan, BranchContinued, TicketIncomplete, AgentsDetected, WorkingTreeDirty, ForeignRoleUsed),
    *(QuestionAnswered, CommentGiven, LimitRaised, LimitLowered),
)

# Only the owner can change records. A worker adds records, and updates the state of runs, questions, attempts and
# reservations. An asker reads, answers, comments, changes limits, cancels, and puts runs into queues with two
# functions that run as the owner; it can neither drive nor approve. `refuse_event` treats every role that may not
# record steps as an asker.
# The database assigns the numbers that order rows; an asker cannot choose them.
GRANTS = """
    create or replace function refuse_event() returns trigger language plpgsql as $$
    begin
        if not has_table_privilege(format('%I.step', tg_table_schema), 'insert')
            and (new.kind is null or new.kind not in ({kinds})) then
            raise exception 'an asker records no event "%"', new.kind using errcode = 'insufficient_privilege';
        end if;
        return new;
    end $$;
    drop trigger if exists refuse_event on event;
    create trigger refuse_event before insert on event for each row execute function refuse_event();
    revoke all on schema {schema} from public;
    revoke all on all tables in schema {schema} from public, {worker}, {asker};
    revoke all on all functions in schema {schema} from public, {worker}, {asker};
    grant usage on schema {schema} to {worker}, {asker};
    grant select on all tables in schema {schema} to {worker}, {asker};
    grant insert on run, step, event, question, approval, comment, spend, raised, attempt, worker to {worker};
    grant update on run, question, attempt, worker to {worker};
    grant delete on spend to {worker};
    grant insert, update, delete on refusal to {worker};
    grant execute on all functions in schema {schema} to {worker};
    grant insert (run, at, key, kind, role, data, lean, bare, token, claims) on event to {asker};
    grant insert (run, sent_to, text, who, way, stops, at, token) on comment to {asker};
    grant insert (run, scope, what, amount, who, at, token) on raised to {asker};
    grant update (answer, comment, who, answered_at) on question to {asker};
    grant update (cancelled) on run to {asker};
    grant execute on function
        write_event(text, bigint, double precision, text, text, text, text, text, text, uuid, text) to {asker};
    grant execute on function ask_for_drive(text) to {asker};
    grant execute on function ask_for_run(
        text, text, text, text, text, text, text, text, text, double precision, text, uuid, text) to {asker};
    alter function ask_for_drive(text) set search_path = {schema}, pg_temp;
    alter function ask_for_run(
        text, text, text, text, text, text, text, text, text, double precision, text, uuid, text)
        set search_path = {schema}, pg_temp;
"""


def prepare_hub(url: str, schema: str = "trued") -> str:
    """Create or migrate the tables, the queues, and the database roles of workers and askers. Safe to repeat. Returns
    the hub's name.

    Raises StateFailed if this login may not do that, or if the database does not answer. Raises BadInput if the address
    is invalid.
    """
    database = Database(url, schema, lambda: RETRY_S)
    try:
        database.migrate()
        database.transaction(lambda db: _grant(db, schema))
        prepare_queue(database, WORKER)
    finally:
        database.close()
    return database.name


def grant_again(db: Connection, schema: str) -> None:
    """Grant workers and askers their rights on the migrated tables. Does nothing if `prepare_hub` has never granted
    rights on this hub."""
    used = "select 1 from pg_roles where rolname = %s and has_schema_privilege(oid, %s, 'usage')"
    if db.execute(used, (WORKER, schema)).fetchone():
        _grant(db, schema)


def _grant(db: Connection, schema: str) -> None:
    found = """select tableowner as name, pg_has_role(current_user, tableowner, 'usage') as is_ours
        from pg_tables where schemaname = %s and tablename = 'run'"""
    owner = db.execute(found, (schema,)).fetchone()
    if owner is None or not owner["is_ours"]:  # checked here because Postgres would only warn
        whose = owner["name"] if owner else "somebody else"
        raise StateFailed(f"the tables belong to {whose}: run `trued hub init` with that login")
    for role in (WORKER, ASKER):
        if not db.execute("select 1 from pg_roles where rolname = %s", (role,)).fetchone():
            db.execute(sql.SQL("create role {} nologin").format(sql.Identifier(role)))
    names = {"schema": sql.Identifier(schema), "worker": sql.Identifier(WORKER), "asker": sql.Identifier(ASKER)}
    kinds = sql.SQL(", ").join(sql.Literal(event.KIND) for event in SAID_BY_ASKERS)
    db.execute(sql.SQL(GRANTS).format(kinds=kinds, **names))
