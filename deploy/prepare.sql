-- What a superuser does once, so that MemLift never connects as one. May be run again.
--
--   MEMLIFT_PASSWORD="$(cat secrets/memlift_password)" psql --file=deploy/prepare.sql
--
-- memlift logs in and owns the database; memlift_owner owns the tables, migrations act as it;
-- memlift_app is what every request acts as, under row-level security.
\set ON_ERROR_STOP on
\getenv password MEMLIFT_PASSWORD
\if :{?password}
\else
  \warn 'MEMLIFT_PASSWORD must hold the password that memlift is to log in with'
  DO $$ BEGIN RAISE 'no password'; END $$;
\endif

SELECT format('CREATE ROLE %I', name)
FROM unnest(ARRAY['memlift', 'memlift_owner', 'memlift_app']) AS name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name)
\gexec

ALTER ROLE memlift_owner NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION;
ALTER ROLE memlift_app NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION;
ALTER ROLE memlift LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION
  PASSWORD :'password';
GRANT memlift_owner, memlift_app TO memlift;

SELECT 'CREATE DATABASE memlift OWNER memlift ENCODING ''UTF8'' TEMPLATE template0'
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'memlift')
\gexec
ALTER DATABASE memlift OWNER TO memlift;

\connect memlift
-- The extension is not marked trusted: only a superuser can create it.
CREATE EXTENSION IF NOT EXISTS vector;
GRANT USAGE, CREATE ON SCHEMA public TO memlift_owner;
