-- skaidb: roles and rights
create role r1;
create role r1;
create user r2 with password 'secret' createdb;
alter role r2 with superuser;
alter role r1 login password 'x';
alter role nope login;
drop role r1, r2;
drop role r1;
drop role if exists r1;
-- rights: what is not owned is not for everybody
create role owner_a login;
create role maker login createdb;
create table mine (id int primary key, v text);
insert into mine values (1, 'x');
\c - owner_a
select * from mine;
insert into mine values (2, 'y');
update mine set v = 'z' where id = 1;
delete from mine;
copy mine to stdout;
drop table mine;
create table other (id int);
create schema s;
drop schema public;
drop database postgres;
create database d;
create role r3;
select 1;
\c - maker
create database made_by_maker;
\c made_by_maker
create table t (id int primary key);
insert into t values (1);
select * from t;
\c postgres maker
drop database made_by_maker;
\c sql_roles postgres
table mine;
drop table mine;
drop role owner_a, maker;
