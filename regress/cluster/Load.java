import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/** One writer of lib.py's workload by way of pgjdbc: inserts (writer, seq) and
 * counts up, until its input ends; says a line for each statement. */
public class Load {
	static String url, table;
	static int writer, counter, seq;
	static volatile boolean over;

	static void say(String what) {
		System.out.println(what);
		System.out.flush();
	}

	static void error(String what, SQLException e) {
		say("error " + what + " " + e.getSQLState() + " " +
			e.getMessage().replace('\n', ' '));
	}

	static boolean insert(PreparedStatement s) {
		seq++;
		try {
			s.setInt(1, writer);
			s.setInt(2, seq);
			s.setString(3, "a row by way of JDBC");
			s.executeUpdate();
			say("acked " + seq);
			return true;
		} catch (SQLException e) {
			error("insert " + seq, e);
			return false;
		}
	}

	static boolean count(PreparedStatement s) {
		try {
			s.setInt(1, counter);
			try (ResultSet r = s.executeQuery()) {
				if (!r.next())
					throw new RuntimeException("no row");
				say("counted " + r.getLong(1));
			}
			return true;
		} catch (SQLException e) {
			error("count 0", e);
			return false;
		}
	}

	/** Until a connection is of no more use. */
	static void session() {
		try (Connection c = DriverManager.getConnection(url);
				PreparedStatement i = c.prepareStatement("insert into " +
					table + " values (?, ?, ?)");
				PreparedStatement u = c.prepareStatement("update " +
					"counter set n = n + 1 where id = ? returning n")) {
			while (!over && (insert(i) && count(u) || !c.isClosed()))
				continue;
		} catch (SQLException e) {
			// Nothing was sent, or it has been told.
			Thread.yield();
		}
	}

	public static void main(String[] a) throws Exception {
		url = a[0];
		writer = Integer.parseInt(a[1]);
		table = a[2];
		counter = Integer.parseInt(a[3]);
		Thread t = new Thread(() -> {
			while (!over)
				session();
		});
		t.start();
		while (System.in.read() >= 0)
			continue;
		over = true;
		t.join();
		say("over");
	}
}
