// node-postgres: plain, prepared, binary, pooled. SKAIDB_NODE names the
// directory whose node_modules holds pg.
'use strict';
const { createRequire } = require('module');
const path = require('path');
const assert = require('assert');
const from = createRequire(path.join(process.env.SKAIDB_NODE, 'x.js'));
const { Client, Pool } = from('pg');

const claims = {
	async rows_are_created_read_changed_and_deleted(c) {
		await fresh(c, 'id int primary key, t text');
		let r = await c.query(
			'insert into n_t values ($1, $2), ($3, $4) returning id',
			[1, "o'ne", 2, null]);
		assert.deepStrictEqual(r.rows, [{ id: 1 }, { id: 2 }]);
		assert.strictEqual(r.command, 'INSERT');
		r = await c.query('select * from n_t where id = $1', [1]);
		assert.deepStrictEqual(r.rows, [{ id: 1, t: "o'ne" }]);
		assert.strictEqual(r.fields[0].dataTypeID, 23);
		assert(r.fields[0].tableID >= 16384);
		r = await c.query('update n_t set t = $1 where id = $2', ['x', 2]);
		assert.strictEqual(r.rowCount, 1);
		r = await c.query('delete from n_t where t = $1', ['x']);
		assert.strictEqual(r.rowCount, 1);
		r = await c.query('select count(*)::int as n from n_t');
		assert.strictEqual(r.rows[0].n, 1);
	},

	async values_come_back_as_their_types(c) {
		await fresh(c, 'id int primary key, n numeric, z timestamptz, ' +
			'j jsonb, b bytea, f float8, o bool, i bigint, u uuid, ' +
			'd interval');
		const z = new Date('2024-01-02T03:04:05.678Z');
		const u = '00000000-0000-0000-0000-00000000004d';
		await c.query(
			'insert into n_t values ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)',
			[1, '1.50', z, { k: [1] }, Buffer.from([0, 255]), 1.5, true,
				'9007199254740993', u, '1 day 02:00:00']);
		const r = (await c.query('select * from n_t')).rows[0];
		assert.strictEqual(r.n, '1.50');
		assert.strictEqual(+r.z, +z);
		assert.deepStrictEqual(r.j, { k: [1] });
		assert.deepStrictEqual([...r.b], [0, 255]);
		assert.strictEqual(r.f, 1.5);
		assert.strictEqual(r.o, true);
		assert.strictEqual(r.i, '9007199254740993');
		assert.strictEqual(r.u, u);
		assert.strictEqual(r.d.days, 1);
		assert.strictEqual(r.d.hours, 2);
	},

	async named_statements_are_prepared_once(c) {
		await fresh(c, 'id int primary key, t text');
		await c.query("insert into n_t values (1, 'a')");
		for (let i = 0; i < 8; i++) {
			const r = await c.query({
				name: 'by-id', rowMode: 'array', values: [1],
				text: 'select id, t from n_t where id = $1',
			});
			assert.deepStrictEqual(r.rows, [[1, 'a']]);
		}
	},

	async results_may_be_binary(c) {
		const r = await c.query({
			text: 'select $1::int4 as a, $2::text as b, $3::bool as c',
			values: [5, 'q', true], binary: true,
		});
		assert.deepStrictEqual({ ...r.rows[0] }, { a: 5, b: 'q', c: true });
	},

	async several_statements_give_several_results(c) {
		const r = await c.query('select 1 as a; select 2 as b');
		assert.strictEqual(r[1].rows[0].b, 2);
		assert.deepStrictEqual((await c.query('')).rows, []);
	},

	async errors_have_code_position_and_constraint(c) {
		await fresh(c, 'id int primary key');
		await c.query('insert into n_t values (1)');
		let e = await failure(c.query('insert into n_t values ($1)', [1]));
		assert.strictEqual(e.code, '23505');
		assert.strictEqual(e.constraint, 'n_t_pkey');
		assert.strictEqual(e.table, 'n_t');
		assert.strictEqual(e.detail, 'Key (id)=(1) already exists.');
		e = await failure(c.query('select * from nope where x = $1', [1]));
		assert.strictEqual(e.code, '42P01');
		assert.strictEqual(e.position, '15');
		await c.query('select 1');
	},

	async notices_are_events(c) {
		const seen = [];
		c.on('notice', (n) => seen.push(n.severity));
		await c.query('drop table if exists never_there');
		assert.deepStrictEqual(seen, ['NOTICE']);
	},

	async startup_options_are_settings() {
		const c = new Client({ statement_timeout: 100,
			application_name: 'claims' });
		await c.connect();
		let r = await c.query('show application_name');
		assert.strictEqual(r.rows[0].application_name, 'claims');
		const e = await failure(c.query('select pg_sleep(60)'));
		assert.strictEqual(e.code, '57014');
		await c.end();
	},

	async a_pool_runs_statements_side_by_side(c) {
		await fresh(c, 'id int primary key');
		const pool = new Pool({ max: 4 });
		const ids = [...Array(100).keys()];
		await Promise.all(ids.map((i) =>
			pool.query('insert into n_t values ($1)', [i])));
		const r = await pool.query('select count(*)::int as n from n_t');
		assert.strictEqual(r.rows[0].n, 100);
		await pool.end();
	},
};

async function fresh(c, columns) {
	await c.query('drop table if exists n_t');
	await c.query(`create table n_t (${columns})`);
}

async function failure(promise) {
	try {
		await promise;
	} catch (e) {
		return e;
	}
	throw new Error('was not refused');
}

async function main() {
	let passed = 0, failed = 0;
	for (const [name, fn] of Object.entries(claims)) {
		const c = new Client();
		c.on('error', () => {});
		try {
			await c.connect();
			await fn(c);
			passed++;
			console.log(`ok ${name}`);
		} catch (e) {
			failed++;
			console.log(`FAIL ${name}: ${e.stack}`);
		}
		await c.end().catch(() => {});
	}
	console.log(`${passed} passed, ${failed} failed`);
	process.exit(failed ? 1 : 0);
}
main();
