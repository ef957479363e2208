import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.OffsetDateTime;
import java.util.Properties;
import java.util.UUID;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;
import org.postgresql.util.PSQLException;

/** pgjdbc: text until the fifth execution, binary from then on. */
public class Jdbc {
	interface Claim {
		void run() throws Exception;
	}

	static int passed, failed;

	static void claim(String name, Claim c) {
		try {
			c.run();
			passed++;
			System.out.println("ok " + name);
		} catch (Throwable t) {
			failed++;
			System.out.println("FAIL " + name + ": " + t);
			t.printStackTrace(System.out);
		}
	}

	static void equal(Object got, Object want) {
		if (got == null ? want != null : !got.equals(want))
			throw new RuntimeException("got " + got + ", want " + want);
	}

	static Connection session(String... more) throws SQLException {
		Properties p = new Properties();
		String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" +
			System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
		p.put("user", System.getenv("PGUSER"));
		for (int i = 0; i < more.length; i += 2)
			p.put(more[i], more[i + 1]);
		return DriverManager.getConnection(url, p);
	}

	static Connection fresh(String columns) throws SQLException {
		Connection c = session();
		try (Statement s = c.createStatement()) {
			s.execute("drop table if exists j_t");
			s.execute("create table j_t (" + columns + ")");
		}
		return c;
	}

	static ResultSet one(Connection c, String sql) throws SQLException {
		ResultSet r = c.createStatement().executeQuery(sql);
		r.next();
		return r;
	}

	static void values() throws Exception {
		Connection c = fresh("id int primary key, t varchar(20), " +
			"n numeric(10,2), ts timestamp, tz timestamptz, b bytea, " +
			"u uuid, f double precision, r real, l bigint, s smallint, " +
			"o boolean, d date");
		UUID u = new UUID(0, 77);
		Timestamp ts = Timestamp.valueOf("2024-01-02 03:04:05.678");
		OffsetDateTime tz = OffsetDateTime.parse("2024-01-02T03:04:05Z");
		java.sql.Date d = java.sql.Date.valueOf("2024-02-29");
		PreparedStatement p = c.prepareStatement(
			"insert into j_t values (?,?,?,?,?,?,?,?,?,?,?,?,?)");
		for (int i = 0; i < 8; i++) {
			p.setInt(1, i);
			p.setString(2, "x'" + i);
			p.setBigDecimal(3, new BigDecimal("1.50"));
			p.setTimestamp(4, ts);
			p.setObject(5, tz);
			p.setBytes(6, new byte[] {0, (byte) 255});
			p.setObject(7, u);
			p.setDouble(8, 1.5);
			p.setFloat(9, 2.5f);
			p.setLong(10, 1L << 40);
			p.setShort(11, (short) 7);
			p.setBoolean(12, true);
			p.setDate(13, d);
			equal(p.executeUpdate(), 1);
		}
		PreparedStatement q =
			c.prepareStatement("select * from j_t where id = ?");
		for (int i = 0; i < 16; i++) {
			q.setInt(1, i % 8);
			ResultSet r = q.executeQuery();
			equal(r.next(), true);
			equal(r.getString(2), "x'" + i % 8);
			equal(r.getBigDecimal(3), new BigDecimal("1.50"));
			equal(r.getTimestamp(4), ts);
			equal(r.getObject(5, OffsetDateTime.class).toInstant(),
				tz.toInstant());
			equal(r.getBytes(6)[1], (byte) 255);
			equal(r.getObject(7), u);
			equal(r.getDouble(8), 1.5);
			equal(r.getFloat(9), 2.5f);
			equal(r.getLong(10), 1L << 40);
			equal(r.getShort(11), (short) 7);
			equal(r.getBoolean(12), true);
			equal(r.getDate(13), d);
			r.close();
		}
		q.setNull(1, java.sql.Types.INTEGER);
		equal(q.executeQuery().next(), false);
		c.close();
	}

	static void changes() throws Exception {
		Connection c = fresh("id int primary key, t text");
		PreparedStatement in =
			c.prepareStatement("insert into j_t values (?, ?)");
		PreparedStatement up =
			c.prepareStatement("update j_t set t = ? where id = ?");
		PreparedStatement del =
			c.prepareStatement("delete from j_t where id = ?");
		for (int i = 0; i < 10; i++) {
			in.setInt(1, i);
			in.setString(2, "a");
			equal(in.executeUpdate(), 1);
			up.setString(1, "b" + i);
			up.setInt(2, i);
			equal(up.executeUpdate(), 1);
		}
		equal(one(c, "select t from j_t where id = 9").getString(1), "b9");
		for (int i = 0; i < 10; i++) {
			del.setInt(1, i);
			equal(del.executeUpdate(), 1);
			equal(del.executeUpdate(), 0);
		}
		c.close();
	}

	static void batches(String rewrite) throws Exception {
		Connection c = fresh("id int primary key, t text");
		c.close();
		c = session("reWriteBatchedInserts", rewrite);
		PreparedStatement p =
			c.prepareStatement("insert into j_t values (?, ?)");
		for (int i = 0; i < 300; i++) {
			p.setInt(1, i);
			p.setString(2, "t" + i);
			p.addBatch();
		}
		equal(p.executeBatch().length, 300);
		equal(one(c, "select count(*) from j_t").getInt(1), 300);
		Statement s = c.createStatement();
		s.addBatch("update j_t set t = '1' where id = 1");
		s.addBatch("update j_t set t = '2' where id < 3");
		equal(s.executeBatch()[1], 3);
		p.setInt(1, 5);
		p.setString(2, "taken");
		p.addBatch();
		try {
			p.executeBatch();
			throw new RuntimeException("was not refused");
		} catch (BatchUpdateException e) {
			equal(e.getSQLState(), "23505");
		}
		c.close();
	}

	static void pages() throws Exception {
		Connection c = fresh("id int primary key");
		PreparedStatement p =
			c.prepareStatement("insert into j_t values (?)");
		for (int i = 0; i < 100; i++) {
			p.setInt(1, i);
			p.addBatch();
		}
		p.executeBatch();
		// A fetch size is used within a block only.
		c.setAutoCommit(false);
		for (int round = 0; round < 7; round++) {
			PreparedStatement q =
				c.prepareStatement("select id from j_t order by id");
			q.setFetchSize(7);
			ResultSet r = q.executeQuery();
			int n = 0;
			while (r.next())
				equal(r.getInt(1), n++);
			equal(n, 100);
		}
		c.commit();
		c.close();
	}

	static void errors() throws Exception {
		Connection c = fresh("id int primary key");
		Statement s = c.createStatement();
		s.execute("insert into j_t values (1)");
		try {
			s.execute("insert into j_t values (1)");
			throw new RuntimeException("was not refused");
		} catch (PSQLException e) {
			equal(e.getSQLState(), "23505");
			equal(e.getServerErrorMessage().getConstraint(), "j_t_pkey");
		}
		s.setQueryTimeout(1);
		try {
			s.execute("select pg_sleep(60)");
			throw new RuntimeException("was not ended");
		} catch (SQLException e) {
			equal(e.getSQLState(), "57014");
		}
		c.close();
	}

	static void copies() throws Exception {
		Connection c = fresh("id int primary key, t text");
		CopyManager m = c.unwrap(PGConnection.class).getCopyAPI();
		equal(m.copyIn("copy j_t from stdin",
			new StringReader("1\tone\n")), 1L);
		StringWriter w = new StringWriter();
		m.copyOut("copy j_t to stdout", w);
		equal(w.toString(), "1\tone\n");
		c.close();
	}

	static void modes() throws Exception {
		for (String mode : new String[] {"simple", "extended",
			"extendedForPrepared", "extendedCacheEverything"}) {
			Connection c = session("preferQueryMode", mode,
				"prepareThreshold", "-1");
			PreparedStatement p =
				c.prepareStatement("select ?::int + 1, ?::text");
			for (int i = 0; i < 3; i++) {
				p.setInt(1, i);
				p.setString(2, "q'");
				ResultSet r = p.executeQuery();
				r.next();
				equal(r.getInt(1), i + 1);
				equal(r.getString(2), "q'");
			}
			c.close();
		}
	}

	static void several() throws Exception {
		Connection c = fresh("id int primary key");
		Statement s = c.createStatement();
		equal(s.execute("select 1; insert into j_t values (1); select 3"),
			true);
		equal(s.getMoreResults(), false);
		equal(s.getUpdateCount(), 1);
		equal(s.getMoreResults(), true);
		equal(c.isValid(3), true);
		c.close();
	}

	public static void main(String[] args) {
		claim("values_come_back_in_text_and_in_binary", Jdbc::values);
		claim("rows_are_changed_and_deleted", Jdbc::changes);
		claim("batches_are_sent_whole", () -> batches("false"));
		claim("rewritten_batches_are_sent_whole", () -> batches("true"));
		claim("a_fetch_size_pages_a_result", Jdbc::pages);
		claim("errors_have_state_and_constraint", Jdbc::errors);
		claim("copy_goes_both_ways", Jdbc::copies);
		claim("every_query_mode_works", Jdbc::modes);
		claim("several_statements_give_several_results", Jdbc::several);
		System.out.println(passed + " passed, " + failed + " failed");
		System.exit(failed > 0 ? 1 : 0);
	}
}
