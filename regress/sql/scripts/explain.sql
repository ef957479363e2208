-- skaidb: plans
create table t (a int, b text, v int, primary key (a, b));
explain select * from t where a = 1 and b = 'x';
explain select * from t where a in (1, 2) and b = 'x';
explain select * from t where a = 1;
explain select * from t where a > 1 and a < 5 and v = 3;
explain select * from t where v = 3;
explain select * from t order by a, b;
explain select v from t order by v limit 3;
explain select count(*) from t;
explain select v, count(*) from t group by v;
explain insert into t values (1, 'x', 2);
explain update t set v = 1 where a = 1 and b = 'x';
explain delete from t;
drop table t;
