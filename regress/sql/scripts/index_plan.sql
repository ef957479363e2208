-- skaidb: which index is used and what is said of it; open tables; what is not there yet
\pset null '(null)'
create table t (id int primary key, a int, b text, c numeric, ok boolean);
insert into t select i, i % 20, 'n' || i % 9, i % 30, i % 3 = 0 from generate_series(1, 300) i;
create index ia on t (a);
create index iab on t (a desc, b);
create index ib on t (lower(b), c desc nulls last);
create index ic on t (c) where ok and b is not null;
create index on t ((a + 1), (a - 1) desc) where a > 5 or b = 'x';
show indexes;
describe t;

explain (costs off) select * from t where a = 1;
explain (costs off) select * from t where a = 1 and b > 'n3' and ok;
explain (costs off) select * from t where a in (1, 2) and b = 'n3';
explain (costs off) select * from t where a > 15 and a <= 17;
explain (costs off) select * from t where a is null;
explain (costs off) select * from t where id = 5 and a = 1;
explain (costs off) select * from t where id > 5 and a = 1;
explain (costs off) select * from t where lower(b) = 'n3' order by c desc nulls last;
explain (costs off) select * from t where lower(b) = 'n3' order by c nulls first;
explain (costs off) select * from t where c > 10 and ok and b = 'n3';
explain (costs off) select * from t where c > 10 and ok;
explain (costs off) select * from t where a + 1 = 7 and (a > 5 or b = 'x');
explain (costs off) select * from t order by a limit 3;
explain (costs off) select * from t order by a desc limit 3;
explain (costs off) select * from t order by a;
explain (costs off) select * from t where ok order by a limit 3;
explain (costs off) update t set a = 2 where a = 1;
explain (costs off) delete from t where a = 1 and b = 'n3';
explain (costs off) select count(*) from t where a = 1;
explain (costs off) select * from t x join t y on x.a = y.id where x.a = 3;
explain (analyze, costs off, timing off, summary off) select id from t where a = 3 and b = 'n3';

-- Open tables: every form of a value is found, by its column alone.
create table o (primary key (id));
insert into o (id, v) values (1, 1), (2, 1.0), (3, 2), (4, null);
create index on o (nothing);
create index on o (v);
create index on o ((v + 1));
create index on o (v) where v > 1;
select id from o where v = 1 order by id;
insert into o (id, v) values (5, 'x'), (6, true), (7, '1');
select id, v from o where v = '1' order by id;
select id, v from o where v = 'x';
select id from o where v is null;
select id from o where v > '1' order by id;
explain (costs off) select id from o where v = 'x';
explain (costs off) select id from o where v > 'x';
insert into o (id, v) values (8, '{}'::json);
create index on o (id);
select id from o where id = 3.0;
show indexes;

-- Not there yet.
create unique index on t (a);
create global index on t (a);
create index on t (a) include (b);
create index on t using hash (a);
create index on t (a int4_ops);
create index on t (b collate "en_US");
create index on t (a) tablespace x;
create index on skaidb.groups (slot);
create sequence s;
create index on s (a);
create index on ia (a);
alter index s rename to x;

-- Too long a key.
create table l (id int primary key, s text, z text);
create index on l (s);
insert into l values (1, repeat('x', 8000));
insert into l values (2, repeat('x', 9000));
update l set s = s || repeat('x', 500);
insert into l (id, z) values (3, repeat('x', 9000));
create index on l (z);
select id from l where s > 'x';
drop index ia, iab, ib, ic;
drop table t, o, l;
show indexes;
