#include "sql/ast.h"

static const char *const tags[] = {
    [SQL_STMT_SELECT] = "SELECT",
    [SQL_STMT_INSERT] = "INSERT 0",
    [SQL_STMT_UPDATE] = "UPDATE",
    [SQL_STMT_DELETE] = "DELETE",
    [SQL_STMT_EXPLAIN] = "EXPLAIN",
    [SQL_STMT_CREATE_TABLE] = "CREATE TABLE",
    [SQL_STMT_CREATE_INDEX] = "CREATE INDEX",
    [SQL_STMT_CREATE_DATABASE] = "CREATE DATABASE",
    [SQL_STMT_CREATE_SCHEMA] = "CREATE SCHEMA",
    [SQL_STMT_CREATE_ROLE] = "CREATE ROLE",
    [SQL_STMT_CREATE_SEQUENCE] = "CREATE SEQUENCE",
    [SQL_STMT_ALTER_SEQUENCE] = "ALTER SEQUENCE",
    [SQL_STMT_ALTER_ROLE] = "ALTER ROLE",
    [SQL_STMT_ALTER_ROLE_SET] = "ALTER ROLE",
    [SQL_STMT_ALTER_DATABASE_SET] = "ALTER DATABASE",
    [SQL_STMT_TRUNCATE] = "TRUNCATE TABLE",
    [SQL_STMT_COMMENT] = "COMMENT",
    [SQL_STMT_SHOW] = "SHOW",
    [SQL_STMT_COPY] = "COPY",
    [SQL_STMT_PREPARE] = "PREPARE",
    [SQL_STMT_EXECUTE] = "EXECUTE",
    [SQL_STMT_DECLARE] = "DECLARE CURSOR",
    [SQL_STMT_LOCK] = "LOCK TABLE",
    [SQL_STMT_LISTEN] = "LISTEN",
    [SQL_STMT_UNLISTEN] = "UNLISTEN",
    [SQL_STMT_NOTIFY] = "NOTIFY",
    [SQL_STMT_CHECKPOINT] = "CHECKPOINT",
    [SQL_STMT_USE] = "USE",
    [SQL_STMT_SHOW_LIST] = "SHOW",
    [SQL_STMT_DESCRIBE] = "DESCRIBE",
    [SQL_STMT_REPAIR_CLUSTER] = "REPAIR CLUSTER",
    [SQL_STMT_RECLAIM] = "RECLAIM",
    [SQL_STMT_ALTER_CLUSTER] = "ALTER CLUSTER",
    [SQL_STMT_ALTER_NODE] = "ALTER NODE",
};

static const char *const txn_tags[] = {
    [SQL_TXN_BEGIN] = "BEGIN",
    [SQL_TXN_START] = "START TRANSACTION",
    [SQL_TXN_COMMIT] = "COMMIT",
    [SQL_TXN_ROLLBACK] = "ROLLBACK",
    [SQL_TXN_SAVEPOINT] = "SAVEPOINT",
    [SQL_TXN_RELEASE] = "RELEASE",
    [SQL_TXN_ROLLBACK_TO] = "ROLLBACK",
    [SQL_TXN_PREPARE] = "PREPARE TRANSACTION",
    [SQL_TXN_COMMIT_PREPARED] = "COMMIT PREPARED",
    [SQL_TXN_ROLLBACK_PREPARED] = "ROLLBACK PREPARED",
};

static const char *const discard_tags[] = {
    [SQL_DISCARD_ALL] = "DISCARD ALL",
    [SQL_DISCARD_PLANS] = "DISCARD PLANS",
    [SQL_DISCARD_SEQUENCES] = "DISCARD SEQUENCES",
    [SQL_DISCARD_TEMP] = "DISCARD TEMP",
};

/* Columns and constraints are parts of a table. */
static const struct {
	const char *alter;
	const char *drop;
} object_tags[] = {
    [SQL_OBJ_TABLE] = {"ALTER TABLE", "DROP TABLE"},
    [SQL_OBJ_INDEX] = {"ALTER INDEX", "DROP INDEX"},
    [SQL_OBJ_SCHEMA] = {"ALTER SCHEMA", "DROP SCHEMA"},
    [SQL_OBJ_DATABASE] = {"ALTER DATABASE", "DROP DATABASE"},
    [SQL_OBJ_ROLE] = {"ALTER ROLE", "DROP ROLE"},
    [SQL_OBJ_COLUMN] = {"ALTER TABLE", "DROP"},
    [SQL_OBJ_CONSTRAINT] = {"ALTER TABLE", "DROP"},
    [SQL_OBJ_VIEW] = {"ALTER VIEW", "DROP VIEW"},
    [SQL_OBJ_MATERIALIZED_VIEW] = {"ALTER MATERIALIZED VIEW",
	"DROP MATERIALIZED VIEW"},
    [SQL_OBJ_SEQUENCE] = {"ALTER SEQUENCE", "DROP SEQUENCE"},
    [SQL_OBJ_TYPE] = {"ALTER TYPE", "DROP TYPE"},
    [SQL_OBJ_DOMAIN] = {"ALTER DOMAIN", "DROP DOMAIN"},
    [SQL_OBJ_FUNCTION] = {"ALTER FUNCTION", "DROP FUNCTION"},
    [SQL_OBJ_EXTENSION] = {"ALTER EXTENSION", "DROP EXTENSION"},
    [SQL_OBJ_OTHER] = {"ALTER", "DROP"},
};

const char *
sql_tag(const struct sql_stmt *s)
{
	switch (s->kind) {
	case SQL_STMT_ALTER_TABLE:
		return object_tags[s->u.alter_table.object].alter;
	case SQL_STMT_RENAME:
		return object_tags[s->u.rename.object].alter;
	case SQL_STMT_DROP:
		return object_tags[s->u.drop.object].drop;
	case SQL_STMT_SET:
		return s->u.set.kind == SQL_SET_RESET ||
			       s->u.set.kind == SQL_SET_RESET_ALL
			   ? "RESET"
			   : "SET";
	case SQL_STMT_TRANSACTION:
		return txn_tags[s->u.txn.kind];
	case SQL_STMT_DEALLOCATE:
		return s->u.deallocate.name ? "DEALLOCATE" : "DEALLOCATE ALL";
	case SQL_STMT_FETCH:
		return s->u.fetch.move ? "MOVE" : "FETCH";
	case SQL_STMT_CLOSE:
		return s->u.close.cursor ? "CLOSE CURSOR" : "CLOSE CURSOR ALL";
	case SQL_STMT_DISCARD:
		return discard_tags[s->u.discard];
	case SQL_STMT_VACUUM:
		return s->u.vacuum.analyze_only ? "ANALYZE" : "VACUUM";
	case SQL_STMT_UNSUPPORTED:
		return s->u.unsupported.feature;
	default:
		ASSERT(tags[s->kind]);
		return tags[s->kind];
	}
}
