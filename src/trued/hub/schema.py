"""The tables and functions of the hub, as numbered migrations."""

# Ids of events are given out one after another and become visible in that order: whoever reads on after the last id
# that it has seen misses none. The lock is held by one statement only, so no client can be frozen while it has it.
# `n` is the order of writing. `token` names a write that has no other key, so that sending it again changes nothing.
MIGRATIONS = (
    """
    create table run (
        id text primary key, workflow text, title text, repository text, base text, branch text,
        state text, grade text, code integer, why text, head text,
        created_at double precision, updated_at double precision, inputs text,
        epoch bigint not null default 0, driver text not null default '', claim uuid, until timestamptz);
    create table step (
        n bigint generated always as identity, run text, key text, inputs text, value text,
        began double precision, ended double precision, epoch bigint not null, primary key (run, key));
    create table event (
        id bigint generated always as identity primary key, run text, at double precision, key text, kind text,
        role text, data text, lean text, bare text, token uuid not null unique);
    create index event_of_run on event (run, id);
    create table question (
        id bigint generated always as identity primary key, run text, key text, text text, options text,
        answer text not null default '', comment text not null default '', who text not null default '',
        asked_at double precision, answered_at double precision not null default 0, unique (run, key));
    create table approval (
        n bigint generated always as identity, run text, requirement text, who text, why text, at double precision,
        contract text, seen text, asked text, rejected boolean, way text, token uuid not null unique);
    create table comment (
        id bigint generated always as identity primary key, run text, sent_to text, text text, who text, way text,
        stops text, at double precision, token uuid not null unique);
    create index comment_of_run on comment (run, id);
    create table spend (
        n bigint generated always as identity, run text, call text, attempt integer, step text, task text, role text,
        agent text, state text, reserved_usd double precision, reserved_tokens bigint,
        reserved_seconds double precision, spent_usd double precision, spent_tokens bigint,
        spent_seconds double precision, cost text, at double precision, primary key (run, call, attempt));
    create index spend_of_role on spend (role, agent, at);
    create table raised (
        n bigint generated always as identity, run text, scope text, what text, amount double precision, who text,
        at double precision, token uuid not null unique);

    create function write_event(
        of_run text, under bigint, at_time double precision, of_key text, of_kind text, of_role text,
        whole text, short text, facts text, by_token uuid) returns bigint language plpgsql as $$
    declare
        number bigint;
    begin
        if under > 0 then
            perform 1 from run where run.id = of_run and run.epoch = under for share;
            if not found then
                return null;
            end if;
        end if;
        perform pg_advisory_xact_lock(hashtext('trued event'));
        insert into event (run, at, key, kind, role, data, lean, bare, token)
            values (of_run, at_time, of_key, of_kind, of_role, whole, short, facts, by_token)
            on conflict (token) do nothing returning event.id into number;
        if number is null then
            select event.id into number from event where event.token = by_token;
        end if;
        return number;
    end $$;
    """,
)
