"""The tables and functions of the hub, as numbered migrations."""

# Ids of events are assigned one after another and become visible in that order, so a reader that continues after the
# last id it has seen misses none. A lock ensures this; it is held for one statement (for a comment, until its commit),
# so a client that freezes cannot keep it for long.
# The functions `reserve_attempt` and `settle_attempt` are not called any more.
# `n` is the order of writing. `token` identifies a write without another key, so that sending it twice changes nothing.
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
    """
    create table attempt (
        run text, key text, number integer, token uuid not null unique, worker text, until timestamptz,
        state text not null default 'open'
            check (state in ('open', 'lost', 'done', 'late', 'stopped', 'died', 'failed')),
        usd double precision not null default 0, tokens bigint not null default 0,
        seconds double precision not null default 0,
        began timestamptz not null default clock_timestamp(), ended timestamptz, primary key (run, key, number));
    create unique index one_open_attempt on attempt (run, key) where state = 'open';

    create function reserve_attempt(of_run text, of_key text, by_token uuid, by_worker text, lease_s double precision)
        returns integer language plpgsql as $$
    declare
        given integer;
    begin
        perform pg_advisory_xact_lock(hashtextextended(of_run || chr(31) || of_key, 0));
        select attempt.number into given from attempt where attempt.token = by_token;
        if given is null
            and exists (select 1 from run where run.id = of_run)
            and not exists (select 1 from step where step.run = of_run and step.key = of_key)
            and not exists (select 1 from attempt a where a.run = of_run and a.key = of_key and a.state = 'open') then
            insert into attempt (run, key, number, token, worker, until)
                select of_run, of_key, coalesce(max(a.number), 0) + 1, by_token, by_worker,
                    clock_timestamp() + make_interval(secs => lease_s)
                from attempt a where a.run = of_run and a.key = of_key
                returning attempt.number into given;
        end if;
        return given;
    end $$;

    create function settle_attempt(
        of_run text, of_key text, of_number integer, as_state text, paid_usd double precision, paid_tokens bigint,
        paid_seconds double precision, with_inputs text, with_value text, at_end double precision)
        returns text language plpgsql as $$
    declare
        known attempt;
        newest bigint;
        final text := as_state;
    begin
        perform pg_advisory_xact_lock(hashtextextended(of_run || chr(31) || of_key, 0));
        select * into known from attempt a where a.run = of_run and a.key = of_key and a.number = of_number for update;
        if known.state not in ('open', 'lost') then
            return known.state;
        end if;
        if known.state is null then
            return null;
        end if;
        if as_state = 'done' then
            select run.epoch into newest from run where run.id = of_run for no key update;
            insert into step (run, key, inputs, value, began, ended, epoch)
                values (of_run, of_key, with_inputs, with_value, extract(epoch from known.began),
                    greatest(at_end, extract(epoch from known.began)), newest)
                on conflict do nothing;
            if not found then
                final := 'late';
            end if;
        end if;
        update attempt a set state = final, usd = paid_usd, tokens = paid_tokens, seconds = paid_seconds,
            ended = clock_timestamp() where a.run = of_run and a.key = of_key and a.number = of_number;
        perform pg_notify('trued', of_run || '/' || of_key);
        return final;
    end $$;
    """,
    """
    alter table run
        add column accept text not null default '', add column cancelled boolean not null default false,
        add column place uuid;
    alter table event add column claims text;
    drop function write_event(text, bigint, double precision, text, text, text, text, text, text, uuid);

    create function write_event(
        of_run text, under bigint, at_time double precision, of_key text, of_kind text, of_role text,
        whole text, short text, facts text, by_token uuid, claimed text default null)
        returns bigint language plpgsql as $$
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
        insert into event (run, at, key, kind, role, data, lean, bare, token, claims)
            values (of_run, at_time, of_key, of_kind, of_role, whole, short, facts, by_token, claimed)
            on conflict (token) do nothing returning event.id into number;
        if number is null then
            select event.id into number from event where event.token = by_token;
        end if;
        return number;
    end $$;
    """,
    """
    create function keep_first() returns trigger language plpgsql as $$
    begin
        if tg_table_name = 'question' then
            if old.answer <> '' and (new.answer, new.comment, new.who, new.answered_at)
                is distinct from (old.answer, old.comment, old.who, old.answered_at) then
                raise exception 'the first answer stands' using errcode = 'insufficient_privilege';
            end if;
        elsif old.cancelled and not new.cancelled then
            raise exception 'a cancelled run stays cancelled' using errcode = 'insufficient_privilege';
        end if;
        return new;
    end $$;
    create trigger keep_first before update on question for each row execute function keep_first();
    create trigger keep_first before update of cancelled on run for each row execute function keep_first();
    """,
    """
    alter table attempt
        add column agent text not null default '', add column place uuid, add column call text not null default '';
    create index attempt_of_agent on attempt (agent, began);
    create table cap (agent text primary key, at_once integer, per_minute integer);

    create function reserve_call(
        of_run text, of_key text, of_call text, of_agent text, by_token uuid, by_worker text, at_place uuid,
        lease_s double precision, out given integer, out why text) language plpgsql as $$
    declare
        held attempt;
        most cap;
        number_open bigint;
        number_begun bigint;
    begin
        select * into held from attempt a where a.run = of_run and a.key = of_key and a.state = 'open' for update;
        if held.run is not null and held.place is not distinct from at_place then
            update attempt a set until = clock_timestamp() + make_interval(secs => lease_s), worker = by_worker
                where a.run = of_run and a.key = of_key and a.number = held.number;
            given := held.number;
            return;
        end if;
        if held.run is not null and held.until > clock_timestamp() then
            why := 'an attempt on ' || held.worker || ' may still be at work';
            return;
        end if;
        select a.number into given from attempt a where a.run = of_run and a.key = of_key and a.call = of_call
            and a.place is not distinct from at_place and a.state not in ('open', 'lost') order by a.number limit 1;
        if given is not null then
            return;
        end if;
        select * into most from cap where cap.agent = of_agent;
        if most.agent is not null then
            perform pg_advisory_xact_lock(hashtextextended('trued cap ' || of_agent, 0));
            select count(*) into number_open from attempt a
                where a.agent = of_agent and a.state = 'open' and a.until > clock_timestamp();
            select count(*) into number_begun from attempt a
                where a.agent = of_agent and a.began > clock_timestamp() - interval '1 minute';
            if number_open >= most.at_once then
                why := number_open || ' of at most ' || most.at_once || ' calls of ' || of_agent || ' are at work';
                return;
            elsif number_begun >= most.per_minute then
                why := number_begun || ' of at most ' || most.per_minute || ' calls of ' || of_agent
                    || ' began within the last minute';
                return;
            end if;
        end if;
        update attempt a set state = 'lost' where a.run = of_run and a.key = of_key and a.state = 'open';
        insert into attempt (run, key, number, token, worker, until, agent, place, call)
            select of_run, of_key, coalesce(max(a.number), 0) + 1, by_token, by_worker,
                clock_timestamp() + make_interval(secs => lease_s), of_agent, at_place, of_call
            from attempt a where a.run = of_run and a.key = of_key
            returning attempt.number into given;
    end $$;
    """,
    """
    alter table run
        add column queue text not null default '' check (left(queue, 1) not in ('@', '_')),
        add column drives integer not null default 0,
        add column asked integer not null default 0, add column served integer not null default 0;
    create table worker (
        name text primary key, life integer not null, until timestamptz, dead boolean not null default false,
        draining boolean not null default false, queue text not null, agents text[] not null, levels text[] not null,
        runs integer not null, host text not null, version text not null, token uuid not null,
        began timestamptz not null default clock_timestamp());

    create function put_drive(of_run text, ended integer default -1, after_s double precision default 0)
        returns text language plpgsql as $$
    declare
        known run;
    begin
        select * into known from run where run.id = of_run for no key update;
        if known.id is null or known.queue = '' then
            return null;
        end if;
        update run set asked = known.asked + 1 where run.id = of_run;
        if known.drives <> ended and exists (
            select 1 from trued_queue.workflow_status w
            where w.workflow_uuid = 'drive/' || of_run || '/' || known.drives
            and w.status in ('ENQUEUED', 'DELAYED', 'PENDING')) then
            return null;
        end if;
        update run set drives = known.drives + 1 where run.id = of_run;
        return trued_queue.enqueue_workflow(
            workflow_name => 'drive', queue_name => known.queue,
            positional_args => array[json_build_object('run', of_run, 'number', known.drives + 1)],
            workflow_id => 'drive/' || of_run || '/' || (known.drives + 1),
            app_version => (select max(format.version)::text from format), application_name => 'trued',
            delay_until_epoch_ms => case when after_s > 0
                then ((extract(epoch from clock_timestamp()) + after_s) * 1000)::bigint end);
    end $$;

    create function ask_for_drive(of_run text) returns void language plpgsql security definer as $$
    begin
        perform put_drive(of_run);
    end $$;

    create function ask_for_run(
        of_id text, of_workflow text, of_title text, of_repository text, of_base text, of_branch text, of_head text,
        with_inputs text, accepted text, at_time double precision, from_driver text, from_place uuid, into_queue text)
        returns void language plpgsql security definer as $$
    begin
        insert into run (id, workflow, title, repository, base, branch, state, grade, code, why, head, created_at,
            updated_at, inputs, accept, driver, place, queue)
            values (of_id, of_workflow, of_title, of_repository, of_base, of_branch, 'running', 'unproven', 0, '',
                of_head, at_time, at_time, with_inputs, accepted, from_driver, from_place, into_queue)
            on conflict (id) do nothing;
    end $$;
    revoke all on function ask_for_drive(text) from public;
    revoke all on function ask_for_run(
        text, text, text, text, text, text, text, text, text, double precision, text, uuid, text) from public;
    """,
    """
    create table refusal (
        run text, worker text, life integer not null, why text not null,
        at timestamptz not null default clock_timestamp(), primary key (run, worker));
    """,
)
