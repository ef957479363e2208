-- Secondary indexes: what they are made of, and that rows are found by them.
\pset null '(null)'

create table t (id int primary key, a int, b text, c numeric(6,2), d date, ok boolean, j json, jb jsonb);
insert into t select i, case when i % 7 <> 0 then i % 20 end, case when i % 5 <> 0 then 'Name ' || i % 13 end, i % 30 / 4.0, date '2024-01-01' + i % 40, i % 3 = 0, '{}', ('{"n": ' || i % 4 || '}')::jsonb from generate_series(1, 500) i;

-- Names.
create index on t (a);
create index on t (a);
create index on t (a, b);
create index on t (lower(b));
create index on t ((a + 1));
create index on t ((a + 1), (a + 2), lower(b), b);
create index t_b on t (b);
create index t_b on t (b);
create index if not exists t_b on t (b);
create index t on t (b);
create index t_pkey on t (b);
create table t_b (x int);
drop index t_a_idx, t_a_idx1, t_a_b_idx, t_lower_idx, t_expr_idx, t_expr_expr1_lower_b_idx;
drop index t_b;
create index "Odd name" on t using btree (b desc nulls last);
alter index "Odd name" rename to even;
alter index "Odd name" rename to even;
alter index if exists nothing rename to even;
alter index even rename to t;
alter index even rename to even;
drop index "Odd name";
drop index even, nothing;
drop index if exists nothing;
drop index if exists even;
drop index even;
drop index t;
create index concurrently i1 on t (a);
drop table i1;
drop sequence i1;
drop index concurrently i1;
create index i1 on t (a);
create index i2 on t (b);
drop index concurrently i1, i2;
drop index concurrently i1 cascade;
drop index i1, i2 restrict;

-- What cannot be one.
create index on nothing (a);
create index on t (nothing);
create index on t ((nothing + 1));
create index on t (lower(nothing));
create index on t (a) where nothing > 1;
create index on t (a) where a;
create index on t (a) where b;
create index on t (j);
create index on t (((j)));
create index on t ((a + random()));
create index on t (a) where d < now();
create index on t (a) where random() < 0.5;
create index on t (sum(a));
create index on t (a) where sum(a) > 1;
create index on t (((select 1)));
create index on t (a) where (select true);
create index on t ((nofunc(a)));
create index on t ((a + 'x'));
create index on t using nomethod (a);
create index on t (a) with (nothing = 1);
create index on t (a) with (fillfactor = 70);
create index on t (t.a);
select * from t_a_idx;
insert into t_a_idx values (1);
drop index t_a_idx;

-- Rows are found.
create index ia on t (a);
create index iab on t (a desc, b);
create index il on t (lower(b), d desc nulls last);
create index ic on t (c) where ok;
create index ij on t (jb, c desc);
create index ie on t ((a * 2)) where a is not null and not ok;
select id, a from t where a = 3 order by id limit 4;
select count(*), min(id), max(id) from t where a is null;
select count(*), min(id), max(id) from t where a < 3;
select count(*), min(id), max(id) from t where a >= 17.5;
select count(*), min(id), max(id) from t where a in (1, 5, null, 400);
select count(*), min(id), max(id) from t where a = 4 and b > 'Name 2' and b <= 'Name 6';
select count(*), min(id), max(id) from t where a = 4 and b is null;
select count(*), min(id), max(id) from t where lower(b) = 'name 3';
select count(*), min(id), max(id) from t where lower(b) = 'name 3' and d >= '2024-01-20';
select count(*), min(id), max(id) from t where ok and c between 1 and 2.25;
select count(*), min(id), max(id) from t where jb = '{"n": 2}' and c > 3;
select count(*), min(id), max(id) from t where a * 2 = 8 and not ok;
select id, a, b from t order by a desc, b, id limit 5;
select id, a, b from t where a = 2 order by b desc, id limit 3;
select id, a from t order by a nulls first, id limit 3;
select count(*) from t where a = null;
select x.id, y.id from t x join t y on y.a = x.a where x.id = 3 and y.id < 50 order by 2;
prepare p(int) as select count(*) from t where a = $1;
execute p(3);
execute p(null);

-- Changes are followed.
update t set a = a + 100 where a = 3;
select count(*) from t where a = 3;
select count(*) from t where a = 103;
update t set a = a + 1 where a > 10;
select sum(a), count(a) from t;
delete from t where a > 100;
select count(*) from t where a > 100;
update t set b = null where lower(b) = 'name 3';
select count(*) from t where lower(b) = 'name 3';
select count(*) from t where b is null;
update t set id = id + 1000 where a = 5;
select count(*), min(id) from t where a = 5;
insert into t (id, a) values (1, 42) on conflict (id) do update set a = excluded.a returning id, a;
select id from t where a = 42;
insert into t select id + 2000, a from t where a = 5;
select count(*), max(id) from t where a = 5;
drop index ia, iab;
select count(*), max(id) from t where a = 5;

-- A row without a key.
create table u (id int primary key, n int, s text);
insert into u values (1, 1, 'x'), (2, 0, 'y');
create index i on u ((10 / n));
delete from u where n = 0;
create index i on u ((10 / n));
insert into u values (3, 0, 'z');
update u set n = 0;
insert into u values (1, 2, 'z') on conflict (id) do update set n = 0;
copy u from stdin;
4	0	q
\.
insert into u values (4, 5, 'z');
select id from u where 10 / n = 2;
drop index i;
create index i on u (n) where 10 / n > 1;
insert into u values (5, 0, 'z');
drop index i;
insert into u values (5, 0, 'z');

-- They go with what has them.
create index i on u (n);
drop table u;
create table i (x int);
drop table i;
create schema sc;
create table sc.v (id int primary key, n int);
create index on sc.v (n);
create index if not exists v_n_idx on sc.v (n);
drop index v_n_idx;
alter index sc.v_n_idx rename to w;
drop index sc.w;
create index w on sc.v (n);
drop table sc.v;
drop schema sc;

-- In a block.
begin;
create index concurrently on t (a);
rollback;
begin;
drop index concurrently il;
rollback;
