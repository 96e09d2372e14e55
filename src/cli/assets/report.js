// SPDX-License-Identifier: Apache-2.0
// Tables that can be sorted, filtered and folded. Rows are in the page already, in the order of the report.
(function () {
'use strict';

function element(parent, name, classes, text) {
	const made = document.createElement(name);
	made.className = classes;
	made.textContent = text;
	parent.appendChild(made);
	return made;
}

function setUp(table) {
	const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
	const isTree = table.classList.contains('tree');
	const nodes = [], roots = [], open = [];
	for (const row of body.rows) {
		const level = Number(row.dataset.depth || 0);
		const node = { row, children: [], parent: null, folded: false, matches: true, name: row.cells[0] };
		open.length = Math.min(open.length, level);
		node.parent = open[open.length - 1] || null;
		(node.parent ? node.parent.children : roots).push(node);
		open.push(node);
		nodes.push(node);
	}

	// A row is shown where nothing above it is folded, and it or something below it fits the filter.
	function show() {
		for (const node of nodes) {
			const above = node.parent;
			node.hiddenByFold = Boolean(above) && (above.folded || above.hiddenByFold);
			node.row.hidden = node.hiddenByFold || !node.matches;
		}
	}

	function inOrder(visit) {
		const stack = [...roots].reverse();
		while (stack.length) {
			const node = stack.pop();
			visit(node);
			for (let i = node.children.length; i--;)
				stack.push(node.children[i]);
		}
	}

	function valueOf(node, column) {
		const cell = node.row.cells[column], value = cell.dataset.v;
		return value === undefined ? cell.textContent.toLowerCase() : value === '' ? -Infinity : Number(value);
	}

	function sort(column, ascending) {
		const compare = (a, b) => {
			const x = valueOf(a, column), y = valueOf(b, column), way = x < y ? -1 : x > y ? 1 : 0;
			return ascending ? way : -way;
		};
		roots.sort(compare);
		for (const node of nodes)
			node.children.sort(compare);
		const rows = document.createDocumentFragment();
		inOrder(node => rows.appendChild(node.row));
		body.appendChild(rows);
		heads.forEach((head, i) => i === column ?
			head.setAttribute('aria-sort', ascending ? 'ascending' : 'descending') : head.removeAttribute('aria-sort'));
	}

	heads.forEach((head, column) => {
		const text = head.textContent;
		head.textContent = '';
		const button = element(head, 'button', '', text);
		button.type = 'button';
		button.addEventListener('click', () => {
			const was = head.getAttribute('aria-sort');
			sort(column, was ? was === 'descending' : head.classList.contains('text'));
		});
	});

	const tools = document.createElement('div');
	tools.className = 'tools';
	table.parentNode.parentNode.insertBefore(tools, table.parentNode);
	const input = element(tools, 'input', '', '');
	input.type = 'search';
	input.placeholder = 'Filter: name or regex';
	input.setAttribute('aria-label', 'Filter rows by name or regular expression');
	if (isTree) {
		for (const [text, folded] of [['Fold all', true], ['Unfold all', false]]) {
			const button = element(tools, 'button', '', text);
			button.type = 'button';
			button.addEventListener('click', () => nodes.forEach(node => fold(node, folded)) || show());
		}
	}
	const count = element(tools, 'span', 'count', '');
	count.setAttribute('role', 'status');

	function filter() {
		let wanted;
		try {
			wanted = new RegExp(input.value, 'i');
		} catch (fault) {
			wanted = new RegExp(input.value.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'i');
		}
		let found = 0;
		for (const node of nodes) {
			node.matches = wanted.test(node.row.textContent);
			found += node.matches;
		}
		for (let i = nodes.length; i--;)
			if (nodes[i].matches && nodes[i].parent)
				nodes[i].parent.matches = true;
		count.textContent = input.value ? found.toLocaleString('en-US') + ' of ' + nodes.length.toLocaleString('en-US') : '';
		show();
	}
	input.addEventListener('input', filter);

	function fold(node, folded) {
		if (!node.button)
			return;
		node.folded = folded;
		node.button.textContent = folded ? '\u25b8' : '\u25be';
		node.button.setAttribute('aria-expanded', String(!folded));
	}

	for (const node of isTree ? nodes : []) {
		const button = document.createElement(node.children.length ? 'button' : 'span');
		button.className = node.children.length ? 'fold' : 'leaf';
		node.name.insertBefore(button, node.name.querySelector('span'));
		if (!node.children.length)
			continue;
		node.button = button;
		button.type = 'button';
		button.setAttribute('aria-label', 'Fold');
		button.addEventListener('click', () => {
			fold(node, !node.folded);
			show();
		});
		fold(node, false);
	}
}

document.querySelectorAll('table.report').forEach(setUp);
}());
