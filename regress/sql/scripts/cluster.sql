-- skaidb
-- What is true of the groups of every cluster, whatever its shape.
create table g (id int primary key, v int);
insert into g (id, v) select i, i from generate_series(1, 200) i;
select count(*) > 1 as groups, count(leader) > 1 as led, min(epoch) from skaidb.groups;
select placement, slot, epoch from skaidb.groups order by placement, slot limit 3;
select placement, leader is not null as led from skaidb.groups where placement = 0;
-- A group has one row.
select placement, slot from skaidb.groups group by placement, slot having count(*) > 1;
-- Followers never pass their leader, nor a leader its log.
select * from skaidb.groups where commit_index > last_index or applied_index > commit_index;
select * from skaidb.groups where lag < 0 or age_ms < 0 or incomplete < 0;
select count(*) from skaidb.groups where members = '' or members is null;
select * from skaidb.groups where leader is null and (round is not null or lag is not null);
-- It joins, and a name may stand for it.
select distinct a.placement from skaidb.groups a join skaidb.groups b on a.placement = b.placement and a.slot = b.slot where a.placement = 0;
with led as (select leader, count(*) as n from skaidb.groups where leader is not null group by leader) select sum(n) > 1 as some from led;
explain (costs off) select slot from skaidb.groups where leader = 1;
select nothing from skaidb.groups;
select * from groups;
select * from skaidb.nothing;
-- It can be read only.
insert into skaidb.groups (slot) values (1);
update skaidb.groups set slot = 1;
delete from skaidb.groups where slot = 1;
copy skaidb.groups from stdin;
\.
drop table skaidb.groups;
drop table if exists skaidb.groups;
create table skaidb.groups (id int primary key);
describe skaidb.groups;
-- Its schema is nobody's.
create schema skaidb;
create schema if not exists pg_mine;
drop table g;
-- Consistency has a form of its own.
set consistency one;
show skaidb.consistency;
set consistency to default;
show skaidb.consistency;
set consistency default;
set consistency most;
-- Levels that are not there yet, whoever asks for them.
set session characteristics as transaction isolation level serializable;
show transaction isolation level;
begin;
show transaction isolation level;
commit;
begin isolation level read committed;
commit;
reset default_transaction_isolation;
