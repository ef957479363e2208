-- skaidb: transactions over open tables
create table ev (primary key (tenant, id)) with (distribute_by = (tenant));
create table note (primary key (tenant, id)) with (distribute_by = (tenant));
insert into ev (tenant, id, what) values (1, 1, 'integer'), (1.0, 1, 'numeric');
insert into ev (tenant, id, what) values (2, 1, 'two');

-- the literal's type: 1 and 1.0 are two partitions
begin atomic partition (tenant = 1);
select tenant, id, what from ev where tenant = 1;
select count(*) from ev where tenant = 1;
select tenant, id, what from ev where tenant = 1.0;
select tenant, id, what from ev where tenant = 1 and id = 1;
update ev set what = what || '!' where tenant = 1;
insert into ev (tenant, id, what) values (1.0, 2, 'outside');
insert into ev (tenant, id, what) values (1, 2, 'inside');
select tenant, id, what from ev where tenant in (1, 2);
select tenant, id, what from ev where tenant = 1 order by id;
commit;
select tenant, id, what from ev order by what;
begin atomic partition (tenant = 1.0);
select tenant, id, what from ev where tenant = 1;
insert into ev (tenant, id, what) values (1.0, 2, 'numeric too');
commit;
select tenant, id, what from ev order by what;

-- new columns, and new types in them: own reads see them at once
begin atomic partition (tenant = 7);
insert into note (tenant, id, body, stars) values (7, 1, 'fine', 5);
select tenant, id, body, stars from note where tenant = 7;
update note set pinned = true where tenant = 7 and id = 1;
select tenant, id, body, stars, pinned from note where tenant = 7;
insert into note (tenant, id, nope) values (8, 1, 1);
select nope from note where tenant = 7;
rollback;
select count(*) from note;
begin atomic partition (tenant = 7);
insert into note (tenant, id, body, stars) values (7, 1, 'fine', 5), (7, 2, 'many', 4.5);
select id, stars from note where tenant = 7 order by id;
delete from note where tenant = 7 and id = 1 returning id, body;
commit;
select id, body, stars, pinned from note;

-- pinned by a string
create table s (primary key (tenant)) ;
begin atomic partition (tenant = 'a');
insert into s (tenant, v) values ('a', 1);
insert into s (tenant, v) values ('b', 1);
insert into s (tenant, v) values ('a', 2) on conflict (tenant) do update set v = excluded.v;
select tenant, v from s where tenant = 'a';
commit;
select tenant, v from s;

-- a table without a primary key has no partition; BEGIN ATOMIC takes its rows
create table log (line text);
begin atomic partition (line = 'a');
insert into log values ('a');
rollback;
begin atomic;
insert into log values ('a'), ('b');
update log set line = line || '!' where line = 'a';
select * from log order by line;
commit;
select * from log order by line;
