-- skaidb: roles
create role r1;
create role r1;
create user r2 with password 'secret' createdb;
alter role r2 with superuser;
alter role r1 login password 'x';
alter role nope login;
drop role r1, r2;
drop role r1;
drop role if exists r1;
