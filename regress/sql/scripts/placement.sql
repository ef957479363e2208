-- skaidb: where a row lies
create table whole (id int primary key, v text);
create table part (tenant text, id int, primary key (tenant, id)) with (distribute_by = (tenant));
create table other (tenant text primary key);
create table plain (v text);
-- rows with the same distribution columns lie in one group, in all tables
select (skaidb.placement_of('part', 't1')::jsonb) = (skaidb.placement_of('part', 't1', 5)::jsonb) as same_partition,
  (skaidb.placement_of('part', 't1')::jsonb) = (skaidb.placement_of('other', 't1')::jsonb) as same_in_other_tables;
select pg_typeof(skaidb.placement_of('whole', 1));
select skaidb.placement_of('whole', 1)::jsonb ? 'slot' as slot, skaidb.placement_of('whole', 1)::jsonb ? 'members' as members;
select count(distinct skaidb.placement_of('whole', g)::text) > 50 as spread from generate_series(1, 500) g;
select (skaidb.placement_of('whole', '7')::jsonb) = (skaidb.placement_of('whole', 7)::jsonb) as a_literal_is_typed;
select skaidb.placement_of('whole', null);
-- the group is in skaidb.groups
select count(*) from skaidb.groups g
  where g.placement = (skaidb.placement_of('whole', 1)::jsonb ->> 'placement')::bigint
    and g.slot = (skaidb.placement_of('whole', 1)::jsonb ->> 'slot')::bigint;
select skaidb.placement_of('whole');
select skaidb.placement_of('whole', 1, 2);
select skaidb.placement_of('part');
select skaidb.placement_of('whole', 1.5);
select skaidb.placement_of('whole', 'x');
select skaidb.placement_of('plain', 'x');
select skaidb.placement_of('nope', 1);
select placement_of('whole', 1);
select skaidb.nope(1);
