// SPDX-License-Identifier: Apache-2.0
// Runs SQL statements in DuckDB, one for each line of the standard input (JSON strings), and prints a
// line for each: {"columns": [[name, type], ...], "rows": [...]}. Large integers are {"int": "123"}.
"use strict";

const { DuckDBInstance } = require("@duckdb/node-api");

function plain(value) {
	if (typeof value === "bigint")
		return { int: value.toString() };
	if (value !== null && typeof value === "object")
		return String(value);
	return value;
}

async function main() {
	const instance = await DuckDBInstance.create(":memory:", { threads: "2" });
	const connection = await instance.connect();
	const input = require("fs").readFileSync(0, "utf8");

	for (const line of input.split("\n")) {
		if (!line)
			continue;
		const result = await connection.runAndReadAll(JSON.parse(line));
		const types = result.columnTypes();
		const columns = result.columnNames().map((name, i) => [name, String(types[i])]);
		const rows = result.getRows().map((row) => row.map(plain));

		console.log(JSON.stringify({ columns, rows }));
	}
}

main().catch((error) => {
	console.error(String(error));
	process.exit(1);
});
