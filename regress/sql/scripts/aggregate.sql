-- aggregates, GROUP BY, HAVING
create table s (id int primary key, g text, i int, b bigint, n numeric, f double precision, ok boolean, d date);
insert into s values
 (1, 'a', 1, 10000000000, 1.10, 0.5, true, '2024-01-01'),
 (2, 'a', 2, 20000000000, 2.20, 1.5, false, '2024-01-03'),
 (3, 'b', 3, null, 3.33, null, true, '2024-01-02'),
 (4, 'b', null, 5, null, 2.5, null, null),
 (5, null, 7, 6, 0, -1, false, '2020-02-29');
select count(*), count(i), count(distinct g) from s;
select sum(i), sum(b), sum(n), sum(f) from s;
select avg(i), avg(b), avg(n), avg(f) from s;
select min(i), max(i), min(g), max(g), min(d), max(d), min(n), max(f) from s;
select bool_and(ok), bool_or(ok), every(ok) from s;
select g, count(*), sum(i) from s group by g order by g;
select g, count(*) from s group by g order by count(*) desc, g;
select g as grp, sum(n) total from s group by grp order by total desc nulls last;
select g, sum(i) from s group by 1 having sum(i) > 3 order by 1;
select i % 2 as odd, count(*) from s group by i % 2 order by 1;
select upper(g), max(f) + 1 from s group by upper(g) order by 1;
select string_agg(g, ',') from s where id < 3;
select count(*) from s where false;
select sum(i) from s where false;
select g, count(*) from s where false group by g;
select sum(i) filter (where ok) from s;
select max(g || i) from s;
select count(*) from s having count(*) > 100;
select id, g, count(*) from s group by id order by id limit 2;
-- errors
select g, i from s group by g;
select g, count(*) from s;
select sum(g) from s;
select count(*) from s where count(*) > 1;
select sum(sum(i)) from s;
select g from s group by 5;
drop table s;
