-- Once, in a database that is new: what Headgate takes, and a table with work to do.
CREATE ROLE headgate LOGIN PASSWORD 'headgate';
GRANT pg_monitor TO headgate;
CREATE EXTENSION pg_stat_statements;

CREATE ROLE etl LOGIN PASSWORD 'etl';
CREATE TABLE orders (id bigint PRIMARY KEY, net numeric NOT NULL, tax numeric NOT NULL, total numeric);
INSERT INTO orders SELECT id, id, 1 FROM generate_series(1, 20000) AS id;
GRANT SELECT, UPDATE ON orders TO etl;
