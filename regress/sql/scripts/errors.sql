-- bad input: an error with its place, and the session goes on
selec 1;
select * from;
select 'abc;
';
select $1;
select 1 +;
select "nope";
select 'é' as x, nope;
insert into nope values (1);
create table t (id int primary key, id int);
create table t (id nope);
create table t (id int primary key, a int primary key);
create table t (a int, primary key (b));
create table t (id int primary key);
create table t (id int);
create table if not exists t (id int);
drop table nope;
drop table if exists nope;
select * from t where id = 1 and;
select repeat('x', 10) from t group by;
select 1; select nope; select 2;
select count(*) from t; drop table t;
select * from t;
select E'a\qb', U&'\0041', $$dollar$$, $x$in $$ side$x$;
select 1 -- comment
;
/* comment /* nested */ */ select 2;
