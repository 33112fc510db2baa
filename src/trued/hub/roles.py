"""The three roles of a hub: the owner makes tables, workers drive runs, askers look and say what people say."""

from psycopg import sql

from trued.errors import StateFailed
from trued.hub.database import Connection, Database
from trued.hub.postgres import PATIENCE_S
from trued.hub.queue import prepare_queue

WORKER, ASKER = "trued_worker", "trued_asker"

# Nobody but the owner changes what is recorded. A worker adds to it, and keeps the state of runs, questions, attempts
# and reservations. An asker reads, answers, comments, changes limits, cancels, and puts runs into queues by two
# functions that run as the owner; it can neither drive nor approve.
# Numbers that order rows are given out by the database, whatever an asker would like them to be.
GRANTS = """
    revoke all on schema {schema} from public;
    revoke all on all tables in schema {schema} from public, {worker}, {asker};
    revoke all on all functions in schema {schema} from public, {worker}, {asker};
    grant usage on schema {schema} to {worker}, {asker};
    grant select on all tables in schema {schema} to {worker}, {asker};
    grant insert on run, step, event, question, approval, comment, spend, raised, attempt, worker to {worker};
    grant update on run, question, attempt, worker to {worker};
    grant delete on spend to {worker};
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
    """Make or convert the tables, and the roles for those who use them; may be done again. Returns the hub's name.

    Raises StateFailed if this login may not do that or the database does not answer, BadInput if the address is none.
    """
    database = Database(url, schema, lambda: PATIENCE_S)
    try:
        database.migrate()
        database.transaction(lambda db: _grant(db, schema))
        prepare_queue(database, WORKER)
    finally:
        database.close()
    return database.name


def _grant(db: Connection, schema: str) -> None:
    found = """select tableowner as name, pg_has_role(current_user, tableowner, 'usage') as is_ours
        from pg_tables where schemaname = %s and tablename = 'run'"""
    owner = db.execute(found, (schema,)).fetchone()
    if owner is None or not owner["is_ours"]:  # Postgres itself would only warn
        whose = owner["name"] if owner else "somebody else"
        raise StateFailed(f"the tables belong to {whose}: run `trued hub init` with that login")
    for role in (WORKER, ASKER):
        if not db.execute("select 1 from pg_roles where rolname = %s", (role,)).fetchone():
            db.execute(sql.SQL("create role {} nologin").format(sql.Identifier(role)))
    names = {"schema": sql.Identifier(schema), "worker": sql.Identifier(WORKER), "asker": sql.Identifier(ASKER)}
    db.execute(sql.SQL(GRANTS).format(**names))
