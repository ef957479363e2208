-- COPY in text and CSV
create table t (id int primary key, name text, n numeric);
copy t from stdin;
1	one	1.5
2	\N	\N
3	tab\there	3
\.
copy t (id, name) from stdin with (format csv);
4,"quoted, ""text"""
5,
\.
copy t from stdin with (format csv, header, delimiter ';', null 'NULL');
id;name;n
6;six;NULL
7;"NULL";7
\.
select * from t order by id;
copy (select * from t order by id) to stdout;
copy (select name, id from t order by id) to stdout with (format csv, header);
copy (select id, name from t where id < 3 order by id) to stdout with (format csv, force_quote *);
copy t from stdin;
8	eight
\.
copy t from stdin;
8	eight	8	9
\.
copy t from stdin;
x	eight	8
\.
copy t from stdin;
1	dup	1
\.
copy nope from stdin;
copy t to stdout with (format nope);
copy t (nope) to stdout;
copy t to '/tmp/x' with (delimiter 'ab');
select count(*) from t;
drop table t;
