-- What a database needs for Headgate to watch it. Run once on the primary, as a superuser, in the
-- database that Headgate connects to:
--
--   psql --variable=role=headgate --file=setup.sql mydatabase

-- A role of Headgate's own. Its password: \password, or another way to authenticate.
SELECT format('CREATE ROLE %I LOGIN', :'role')
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'role') \gexec

-- Without this the statistics of other sessions are hidden, and would read 0.
GRANT pg_monitor TO :"role";

-- Optional, for the signal load_per_core: the load average over a minute, for each core. Linux.
CREATE OR REPLACE FUNCTION headgate_load_per_core() RETURNS double precision
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT split_part(pg_read_file('/proc/loadavg'), ' ', 1)::float8
    / greatest(1, (SELECT count(*) FROM regexp_matches(pg_read_file('/proc/stat'), '\ncpu\d+ ', 'g')))
$$;
REVOKE ALL ON FUNCTION headgate_load_per_core() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION headgate_load_per_core() TO :"role";

-- Optional, for budgets with `rate: auto`: statement statistics, which show reads as well. The
-- library has to be loaded first: shared_preload_libraries = 'pg_stat_statements'.
--   CREATE EXTENSION pg_stat_statements;
