-- every type in a table: literals, casts, keys, order
create table ty (id int primary key, b boolean, i2 smallint, i4 integer, i8 bigint, f4 real, f8 double precision,
  n numeric, n2 numeric(8,3), t text, v varchar(5), c char(4), by bytea, u uuid, d date, ti time, ts timestamp,
  tz timestamptz, iv interval, j json, jb jsonb);
insert into ty values (1, true, -32768, -2147483648, -9223372036854775808, 1.5, 1e300, 123456789012345678901234567890.123,
  12345.6785, 'héllo', 'abcde', 'ab', '\x00ff', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '2024-02-29', '23:59:59.999999',
  '2024-02-29 12:34:56.789', '2024-02-29 12:34:56+02', '1 year 2 mons 3 days 04:05:06.7', '{"a": [1, 2]}', '{"b": 1, "a": {"x": null}}');
insert into ty (id) values (2);
insert into ty (id, b, i2, f4, f8, n, t, v, c, d, ts, tz, iv) values (3, 'no', 32767, 'NaN', '-Infinity', 'NaN', '', '', '', 'infinity',
  '-infinity', '1999-12-31 23:59:59.5-05', '-1 day');
\x on
select * from ty order by id;
\x off
select pg_typeof(b), pg_typeof(i2), pg_typeof(n2), pg_typeof(v), pg_typeof(c), pg_typeof(tz) from ty where id = 1;
select '12'::int + 1, '1.50'::numeric, 1::text || 2, cast('t' as boolean), 3.7::int, -3.5::int, 2.5::int;
select 1/2, 1/2.0, 7 % 3, 2 ^ 10, 10::numeric / 3, 1e10, 1.0 * 2.00;
select 'abc'::varchar(2), 'abc'::char(5) || '|', 123.456::numeric(5,1), 'x'::char(3) = 'x';
select date '2024-03-01' - date '2024-02-01', date '2024-01-31' + 1, timestamp '2024-01-31' + interval '1 month';
select interval '1 day' * 2.5, interval '90 minutes', interval '1 mon' > interval '29 days';
select '2024-01-01 00:00+00'::timestamptz at time zone 'Asia/Tokyo', timestamp '2024-07-01 12:00' at time zone 'Europe/Paris';
select extract(year from date '2024-05-06'), extract(epoch from timestamptz '1970-01-02 00:00+00'), date_trunc('month', timestamp '2024-05-06 07:08:09');
select '{"a": {"b": [10, 20]}}'::jsonb -> 'a' -> 'b' ->> 1, '{"a": 1}'::json ->> 'a', '{"a":1,"b":2}'::jsonb @> '{"b":2}';
select 0.1::float8 + 0.2::float8, 1.1::float4, 'inf'::float8, 1e15::float8, 1e-5::float8, 100000::float4 * 10;
select '\xDEADBEEF'::bytea, length('\x00ff'::bytea), 'abc'::bytea;
create table k (n numeric primary key, v text);
insert into k values (1.0, 'a'), (2.50, 'b'), (-3, 'c'), (1000000, 'd'), (0.001, 'e');
insert into k values (1.00, 'again');
select * from k order by n;
select * from k where n = 2.5;
select * from k where n > 0 and n < 3 order by n;
create table kd (d date, t text, primary key (d, t));
insert into kd values ('2024-01-02', 'b'), ('2024-01-01', 'z'), ('2024-01-02', 'a');
select * from kd order by d, t;
select * from kd where d = '2024-01-02' order by t desc;
create table kt (t timestamptz primary key);
insert into kt values ('2024-01-01 00:00+01'), ('2023-12-31 23:00+00'), ('1960-01-01 00:00+00') on conflict do nothing;
select * from kt order by t;
create table kc (c char(3) primary key);
insert into kc values ('a'), ('b');
insert into kc values ('a  ');
select c || '|' from kc where c = 'a';
-- errors
select 'abc'::int;
select 99999::smallint;
select 2147483647 + 1;
select 1/0;
select '2024-02-30'::date;
select 'maybe'::boolean;
select 'xyz'::uuid;
select '{bad'::json;
insert into ty (id, v) values (4, 'toolong');
insert into ty (id, n2) values (4, 1234567);
insert into ty (id, i2) values (4, 40000);
select 'a' + 1;
select true + 1;
select 1::nope;
drop table ty, k, kd, kt, kc;
