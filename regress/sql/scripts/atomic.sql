-- skaidb: BEGIN ATOMIC PARTITION, the promises one by one
create table org (tenant_id text, id int, name text, primary key (tenant_id, id))
  with (distribute_by = (tenant_id));
create table settings (tenant_id text, id int, theme text, primary key (tenant_id, id))
  with (distribute_by = (tenant_id));
create table tenants (tenant_id text primary key, plan text);
create table audit (id int primary key, what text);

-- rows of any number of tables that are distributed by the pinned columns
begin atomic partition (tenant_id = 't1');
insert into org values ('t1', 1, 'acme'), ('t1', 2, 'globex');
insert into settings values ('t1', 1, 'dark');
insert into tenants values ('t1', 'free');
-- reads see the session's own writes
select * from org where tenant_id = 't1' order by id;
select o.name, s.theme from org o join settings s on s.id = o.id
  where o.tenant_id = 't1' and s.tenant_id = 't1';
select count(*) from org where tenant_id = 't1';
-- other sessions see nothing until COMMIT
\! psql -X -A -t -c "select count(*) from org"
commit;
\! psql -X -A -t -c "select count(*) from org"
select * from settings;

-- rows outside the partition: refused, nothing is done, the transaction is open
begin atomic partition (tenant_id = 't1');
insert into org values ('t1', 3, 'kept');
insert into org values ('t1', 4, 'not kept'), ('t2', 1, 'other');
update org set name = upper(name) where id = 1;
update org set name = upper(name) where tenant_id = 't2' and id = 1;
update org set tenant_id = 't2' where tenant_id = 't1' and id = 1;
delete from org;
select * from org where tenant_id in ('t1', 't2');
select * from org where tenant_id > 't1';
select count(*) from org;
select * from org where tenant_id = 't1' and id = 1 union all select * from org where id = 2;
insert into audit values (1, 'x');
select * from audit;
insert into org select 't1', id, what from audit;
explain select * from org;
copy org from stdin;
t1	5	copied
t2	5	not
\.
copy audit from stdin;
1	x
\.
-- what was proven goes on
copy org from stdin;
t1	6	copied
\.
update org set name = 'two' where tenant_id = 't1' and id = 2;
select id, name from org where tenant_id = 't1' order by id;
commit;
select * from org order by tenant_id, id;

-- a failed statement leaves the buffer as it was and the transaction open
begin atomic partition (tenant_id = 't1');
insert into org values ('t1', 7, 'seven');
insert into org values ('t1', 8, 'eight'), ('t1', 1, 'there already');
insert into org values ('t1', 7, 'mine already');
select 1/0;
nonsense;
select nope from org;
insert into org values ('t1', 9, 'nine'), ('t1', 10, (1/0)::text);
select id, name from org where tenant_id = 't1' and id > 6 order by id desc;
commit;
select count(*) from org;

-- ROLLBACK undoes everything, without a WARNING
begin atomic partition (tenant_id = 't1');
delete from org where tenant_id = 't1';
select count(*) from org where tenant_id = 't1';
rollback;
select count(*) from org;

-- savepoints mark and cut
begin atomic partition (tenant_id = 't3');
insert into org values ('t3', 1, 'a');
savepoint one;
insert into org values ('t3', 2, 'b');
update org set name = 'changed' where tenant_id = 't3' and id = 1;
savepoint two;
delete from org where tenant_id = 't3';
select count(*) from org where tenant_id = 't3';
rollback to two;
select * from org where tenant_id = 't3' order by id;
rollback to one;
select * from org where tenant_id = 't3' order by id;
release one;
insert into org values ('t3', 3, 'c');
commit;
select * from org where tenant_id = 't3' order by id;

-- refused inside: DDL and USE; the transaction stays open
begin atomic partition (tenant_id = 't3');
create table x (id int primary key);
drop table org;
create sequence q;
use postgres;
begin atomic;
begin;
set local statement_timeout = '9s';
show statement_timeout;
select 'still open' from org where tenant_id = 't3' and id = 1;
commit and chain;
commit;

-- one key, several changes
begin atomic partition (tenant_id = 't4');
insert into org values ('t4', 1, 'a') returning *;
update org set name = name || 'b' where tenant_id = 't4' returning *;
delete from org where tenant_id = 't4' and id = 1 returning *;
insert into org values ('t4', 1, 'again');
insert into org values ('t4', 1, 'up') on conflict (tenant_id, id) do update set name = org.name || '+' || excluded.name;
insert into org values ('t4', 1, 'nothing') on conflict do nothing;
update org set id = 5 where tenant_id = 't4' and id = 1;
select * from org where tenant_id = 't4';
commit;
select * from org where tenant_id = 't4';
-- deleted and inserted again, of a committed row
begin atomic partition (tenant_id = 't4');
delete from org where tenant_id = 't4' and id = 5;
insert into org values ('t4', 5, 'anew');
commit;
select * from org where tenant_id = 't4';
-- inserted and deleted: no trace, and no condition
begin atomic partition (tenant_id = 't4');
insert into org values ('t4', 6, 'gone');
delete from org where tenant_id = 't4' and id = 6;
\! psql -X -A -t -q -c "insert into org values ('t4', 6, 'of another')"
select * from org where tenant_id = 't4' order by id;
commit;
select * from org where tenant_id = 't4' order by id;

-- a racing INSERT of the same key fails COMMIT, and nothing is applied
begin atomic partition (tenant_id = 't5');
insert into settings values ('t5', 1, 'mine');
insert into org values ('t5', 1, 'mine');
\! psql -X -A -t -q -c "insert into org values ('t5', 1, 'faster')"
commit;
select * from org where tenant_id = 't5';
select * from settings where tenant_id = 't5';
-- last writer wins between UPDATEs and DELETEs
begin atomic partition (tenant_id = 't5');
update org set name = name || ' (seen)' where tenant_id = 't5' and id = 1;
\! psql -X -A -t -q -c "update org set name = 'in between' where tenant_id = 't5'"
commit;
select * from org where tenant_id = 't5';
begin atomic partition (tenant_id = 't5');
insert into org values ('t5', 2, 'mine') on conflict (tenant_id, id) do update set name = 'seen';
\! psql -X -A -t -q -c "insert into org values ('t5', 2, 'in between')"
commit;
select * from org where tenant_id = 't5' and id = 2;
delete from org where id = 2 and tenant_id = 't5';
-- unless the session asks for it
set skaidb.validate_writes = on;
begin atomic partition (tenant_id = 't5');
update org set name = 'validated' where tenant_id = 't5' and id = 1;
\! psql -X -A -t -q -c "update org set name = 'in between again' where tenant_id = 't5'"
commit;
select * from org where tenant_id = 't5';
set skaidb.validate_writes = sometimes;
reset skaidb.validate_writes;
show skaidb.validate_writes;

-- the size of the write set
show transaction_size_limit;
set transaction_size_limit = '100kB';
begin atomic partition (tenant_id = 't6');
insert into org select 't6', g, repeat('x', 100) from generate_series(1, 100) g;
insert into org select 't6', g, repeat('x', 100) from generate_series(101, 1000) g;
select count(*), min(id), max(id) from org where tenant_id = 't6';
commit;
reset transaction_size_limit;
begin atomic partition (tenant_id = 't6');
update org set name = repeat('x', 50000) where tenant_id = 't6';
commit;
select count(*) from org where tenant_id = 't6' and length(name) > 100;
rollback;

-- ORDER BY, LIMIT, aggregates over what is laid over
begin atomic partition (tenant_id = 't6');
delete from org where tenant_id = 't6' and id <= 90;
insert into org values ('t6', 0, 'first'), ('t6', 200, 'last');
select id from org where tenant_id = 't6' order by id limit 3;
select id from org where tenant_id = 't6' order by id desc limit 3;
select count(*), min(id), max(id), sum(id) from org where tenant_id = 't6';
select id from org where tenant_id = 't6' and name like '%st' order by id;
select count(*) from org where tenant_id = 't6' and id between 95 and 300;
copy (select id from org where tenant_id = 't6' order by id limit 2) to stdout;
-- a cursor shows what there was when it was opened
declare c cursor for select id from org where tenant_id = 't6' order by id;
fetch 2 from c;
delete from org where tenant_id = 't6' and id > 90;
fetch 2 from c;
select id from org where tenant_id = 't6' order by id;
rollback;

-- sequences are never undone
create sequence seq;
begin atomic partition (tenant_id = 't1');
select nextval('seq');
rollback;
select nextval('seq');

-- prepared statements
prepare ins (text, int) as insert into org values ($1, $2, 'prepared');
prepare sel (text) as select * from org where tenant_id = $1 order by id;
begin atomic partition (tenant_id = 't7');
execute ins ('t7', 1);
execute ins ('t8', 1);
execute sel ('t7');
execute sel ('t1');
commit;
execute sel ('t7');

-- the pin itself
begin atomic partition (tenant_id = null);
begin atomic partition (tenant_id = 't1', tenant_id = 't2');
begin atomic partition (tenant_id = 1);
select * from org where tenant_id = 't1';
rollback;
begin atomic partition (id = 1, tenant_id = 't1');
select * from org where tenant_id = 't1' and id = 1;
rollback;

-- BEGIN ATOMIC: rows of any tables, in any groups
begin atomic;
insert into audit values (1, 'one');
select * from audit;
commit;
select * from audit;
begin atomic;
insert into audit select g, 'many' from generate_series(10, 300) g;
select count(*) from audit;
commit;
select count(*) from audit;
-- all of it or nothing: one key is taken meanwhile by another session
begin atomic;
insert into audit select g, 'more' from generate_series(301, 400) g;
update audit set what = 'changed' where id < 20;
delete from audit where id between 20 and 29;
select count(*), count(*) filter (where what = 'changed') from audit;
\! psql -qX -c "insert into audit values (333, 'mine')"
commit;
select count(*), count(*) filter (where what = 'changed') from audit;
begin atomic;
insert into audit select g, 'more' from generate_series(401, 500) g;
update audit set what = 'changed' where id < 20;
delete from audit where id between 20 and 29;
commit;
select count(*), count(*) filter (where what = 'changed') from audit;
commit;
