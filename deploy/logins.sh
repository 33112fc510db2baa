#!/bin/sh
# The logins of a hub, one for all workers and one for people who ask. The image of Postgres runs this once, as the owner,
# when it makes the database; `trued hub init` then gives the two roles their rights. May be run again.
set -eu
: "${WORKER_PASSWORD:?}" "${ASKER_PASSWORD:?}"
psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 --set worker="$WORKER_PASSWORD" --set asker="$ASKER_PASSWORD" \
  --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
select format('create role %I nologin', name) from unnest(array['trued_worker', 'trued_asker']) as name
  where not exists (select 1 from pg_roles where rolname = name) \gexec
select format('create role %I login', name) from unnest(array['worker', 'asker']) as name
  where not exists (select 1 from pg_roles where rolname = name) \gexec
alter role worker password :'worker';
alter role asker password :'asker';
grant trued_worker to worker;
grant trued_asker to asker;
SQL
