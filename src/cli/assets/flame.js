// SPDX-License-Identifier: Apache-2.0
// The flame graph as something to use: zoom, search, keys, tooltips. It gets `data` from the lines above
// and draws only frames that are wide enough to be seen; what was drawn without a script is replaced.
const svg = document.currentScript ? document.currentScript.closest('svg') : document.documentElement;
const SVG = 'http://www.w3.org/2000/svg', HTML = 'http://www.w3.org/1999/xhtml';
const ROW = 18, MARGIN = 10, TOP = data.page ? 66 : 96, LETTER = 7.25, NARROW = 0.4, MOST_DRAWN = 6000;
const stride = data.difference ? 5 : 4 + (data.calls ? 1 : 0);
const count = data.frames.length / stride;
const depth = new Uint32Array(count), label = new Uint32Array(count), inlined = new Uint8Array(count);
const total = new Float64Array(count), self = new Float64Array(count), extra = new Float64Array(count);
const start = new Float64Array(count), end = new Uint32Array(count), parent = new Int32Array(count);

// Frames come in preorder: the depth says whose child each is, and those before it where it begins.
function unpack() {
	const next = new Float64Array(count), open = [];
	for (let i = 0; i < count; i++) {
		const at = i * stride;
		depth[i] = data.frames[at];
		label[i] = data.frames[at + 1] >> 1;
		inlined[i] = data.frames[at + 1] & 1;
		total[i] = data.frames[at + 2];
		self[i] = data.frames[at + 3];
		extra[i] = stride > 4 ? data.frames[at + 4] : 0;
		while (open.length > depth[i])
			end[open.pop()] = i;
		parent[i] = open.length ? open[open.length - 1] : -1;
		start[i] = i ? next[parent[i]] : 0;
		next[i] = start[i];
		if (i)
			next[parent[i]] += total[i];
		open.push(i);
	}
	while (open.length)
		end[open.pop()] = count;
}
unpack();

const levels = depth.reduce((most, level) => Math.max(most, level), 0) + 1;
const names = data.labels.map(parts => parts[0]);
const container = svg.querySelector('.frames'), foot = svg.querySelector('.foot');
const background = svg.querySelector('.background'), head = svg.querySelector('.head');
const shade = head.querySelector('.background'), alone = svg === document.documentElement;
let icicle = data.icicle, width = 0;
let zoomed = 0, focused = 0, from = 0, to = total[0], moving = 0;
let matches = null; // by label, while something is searched

function element(parentNode, space, name, classes, text) {
	const made = document.createElementNS(space, name);
	if (classes)
		made.setAttribute('class', classes);
	if (text !== undefined)
		made.textContent = text;
	if (parentNode)
		parentNode.appendChild(made);
	return made;
}

// Elements are made once and used again for other frames.
const pool = [], drawn = new Map();
container.textContent = '';
container.setAttribute('role', 'tree');
container.setAttribute('aria-label', 'Frames');
const controlsBox = element(head, SVG, 'foreignObject');
svg.appendChild(head); // over the frames: it stays where a tall graph is scrolled
const tipBox = element(svg, SVG, 'foreignObject', 'unseen');
const helpBox = element(svg, SVG, 'foreignObject', 'unseen');
tipBox.setAttribute('pointer-events', 'none');

function slot(number) {
	if (number < pool.length)
		return pool[number];
	const group = element(container, SVG, 'g', 'frame');
	const made = { group, rect: element(group, SVG, 'rect'), text: element(group, SVG, 'text'),
		classes: '', shown: '', hidden: false, frame: -1 };
	made.rect.setAttribute('height', ROW - 1);
	made.rect.setAttribute('rx', 2);
	group.setAttribute('role', 'treeitem');
	group.setAttribute('tabindex', -1);
	group.slot_ = made;
	pool.push(made);
	return made;
}

// Letters of many scripts take the place of two.
function cut(text, room) {
	let letters = Math.floor(room / LETTER), used = 0, shown = '';
	if (letters < 3)
		return '';
	for (const letter of text) {
		used += letter.codePointAt(0) >= 0x1100 ? 2 : 1;
		if (used > letters)
			return shown.slice(0, -1) + '\u2026';
		shown += letter;
		if (used === letters && shown.length < text.length)
			return shown.slice(0, -1) + '\u2026';
	}
	return shown;
}

const classOf = i => data.difference ? changeClass(i) : data.labels[label[i]][4];

function changeClass(i) {
	const change = (total[i] - extra[i]) / data.most, size = Math.abs(change);
	const level = size >= .2 ? 4 : size >= .05 ? 3 : size >= .01 ? 2 : size >= .001 ? 1 : 0;
	return (level ? (change > 0 ? 'slower' : 'faster') + level : 'plain') + (extra[i] ? '' : ' new');
}

function draw(number, i, x, room) {
	const made = slot(number);
	const y = TOP + (icicle ? depth[i] : levels - 1 - depth[i]) * ROW;
	let classes = 'frame ' + classOf(i);
	if (matches && matches[label[i]])
		classes += ' match';
	if (i < zoomed && end[i] > zoomed)
		classes += ' above';
	if (i === focused && keyed)
		classes += ' focus';
	if (made.classes !== classes)
		made.group.setAttribute('class', made.classes = classes);
	made.rect.setAttribute('x', x.toFixed(2));
	made.rect.setAttribute('y', y);
	made.rect.setAttribute('width', Math.max(room - (room > 3 ? 1 : 0), .3).toFixed(2));
	const shown = cut(names[label[i]], room - 7);
	if (made.shown !== shown)
		made.text.textContent = made.shown = shown;
	if (shown) {
		made.text.setAttribute('x', (x + 3).toFixed(2));
		made.text.setAttribute('y', y + 13);
	}
	made.group.setAttribute('tabindex', i === focused ? 0 : -1);
	made.frame = i;
	drawn.set(i, made);
}

// What is to be seen: frames below `narrow` pixels, or out of sight, are passed over with all above them.
function visible(narrow) {
	const scale = (width - 2 * MARGIN) / (to - from || 1), list = [];
	for (let i = 0; i < count;) {
		const left = Math.max((start[i] - from) * scale, 0);
		const right = Math.min((start[i] + total[i] - from) * scale, width - 2 * MARGIN);
		if (i && right - left < narrow) {
			i = end[i];
			continue;
		}
		list.push(i, MARGIN + left, Math.max(right - left, 0));
		i++;
	}
	return list;
}

function render() {
	let narrow = NARROW, list = visible(narrow);
	while (list.length > 3 * MOST_DRAWN)
		list = visible(narrow *= 2);
	drawn.clear();
	for (let k = 0; k < list.length; k += 3)
		draw(k / 3, list[k], list[k + 1], list[k + 2]);
	for (let k = list.length / 3; k < pool.length && pool[k].frame >= 0; k++) {
		pool[k].frame = -1;
		pool[k].group.setAttribute('class', pool[k].classes = 'frame unseen');
	}
}

function resize() {
	const outer = svg.parentNode instanceof Element ? svg.parentNode.clientWidth : window.innerWidth;
	width = data.width || Math.max(outer, 320);
	const below = TOP + levels * ROW;
	const needed = below + 14 + Number(foot.getAttribute('data-height'));
	const height = alone ? Math.max(needed, window.innerHeight) : needed;
	svg.removeAttribute('viewBox');
	svg.setAttribute('width', width);
	svg.setAttribute('height', height);
	background.setAttribute('width', width);
	background.setAttribute('height', height);
	shade.setAttribute('width', width);
	shade.setAttribute('height', 92);
	foot.setAttribute('transform', 'translate(0,' + (below + 14) + ')');
	controlsBox.setAttribute('x', MARGIN);
	controlsBox.setAttribute('y', 56);
	controlsBox.setAttribute('width', width - 2 * MARGIN);
	controlsBox.setAttribute('height', 30);
	render();
}

// ---- numbers

const grouped = number => number.toLocaleString('en-US');

function human(value) {
	if (!data.time)
		return Number.isInteger(value) ? grouped(value) : String(Number(value.toPrecision(4)));
	const size = Math.abs(value);
	if (size < 1e3)
		return Math.round(value) + ' ns';
	if (size < 1e6)
		return (value / 1e3).toFixed(3) + ' us';
	return size < 1e9 ? (value / 1e6).toFixed(3) + ' ms' : (value / 1e9).toFixed(3) + ' s';
}

const percent = share => (100 * share).toFixed(share < .0995 ? 2 : 1) + ' %';
const shareOf = (value, whole) => percent(whole ? value / whole : 0);

// ---- tooltips

function row(table, title, ...cells) {
	const line = element(table, HTML, 'tr');
	element(line, HTML, 'th', '', title);
	for (const cell of cells)
		element(line, HTML, 'td', '', cell);
}

function addChange(table, i) {
	const change = total[i] - extra[i];
	row(table, 'before', human(extra[i]), '');
	row(table, 'change', (change > 0 ? '+' : '') + human(change),
		extra[i] ? (change > 0 ? '+' : '') + percent(change / extra[i]) : 'new');
}

function fillTip(i) {
	const [name, module, file, line] = data.labels[label[i]];
	const tip = element(null, HTML, 'div', 'tip'), place = [];
	element(tip, HTML, 'b', '', name);
	if (module)
		place.push(module);
	if (file)
		place.push(file + (line ? ':' + line : ''));
	if (inlined[i])
		place.push('inlined');
	if (place.length)
		element(tip, HTML, 'div', 'place', place.join('  \u00b7  '));
	const table = element(element(tip, HTML, 'table'), HTML, 'tbody');
	row(table, data.difference ? 'now' : 'total', human(total[i]), shareOf(total[i], total[0]));
	if (data.difference)
		addChange(table, i);
	row(table, 'self', human(self[i]), shareOf(self[i], total[0]));
	if (i && parent[i])
		row(table, 'of its caller', '', shareOf(total[i], total[parent[i]]));
	if (data.calls && extra[i] && !data.difference)
		row(table, 'calls', grouped(extra[i]), '');
	tipBox.textContent = '';
	tipBox.appendChild(tip);
	return tip;
}

function tell(i) {
	const parts = data.labels[label[i]];
	return parts[0] + (parts[1] ? ', ' + parts[1] : '') + ', ' + human(total[i]) + ', ' +
		shareOf(total[i], total[0]) + ' of all, self ' + human(self[i]);
}

function showTip(i, x, y) {
	const box = svg.getBoundingClientRect(), tip = fillTip(i);
	tipBox.setAttribute('class', '');
	tipBox.setAttribute('width', 520);
	tipBox.setAttribute('height', 1);
	const size = tip.getBoundingClientRect();
	let left = x + 14, top = y + 18;
	if (left + size.width > Math.min(window.innerWidth, box.right) - 4)
		left = Math.max(x - size.width - 14, 4);
	if (top + size.height > window.innerHeight - 4)
		top = Math.max(Math.min(y, window.innerHeight - 4) - size.height - 14, 4);
	tipBox.setAttribute('x', left - box.left);
	tipBox.setAttribute('y', top - box.top);
}

function hideTip() {
	tipBox.setAttribute('class', 'unseen');
}

const frameOf = event => {
	const group = event.target.closest && event.target.closest('.frame');
	return group && group.slot_ ? group.slot_.frame : -1;
};

container.addEventListener('mousemove', event => {
	const i = frameOf(event);
	if (i >= 0 && !moving)
		showTip(i, event.clientX, event.clientY);
	else
		hideTip();
});
container.addEventListener('mouseleave', hideTip);

// ---- zoom

function jump(left, right) {
	from = left;
	to = right;
	render();
}

function zoom(i) {
	const left = start[i], right = start[i] + total[i], was = [from, to];
	const calm = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
	const begun = performance.now();
	zoomed = i;
	resetButton.hidden = !i;
	hideTip();
	cancelAnimationFrame(moving);
	report();
	if (calm) {
		moving = 0;
		jump(left, right);
		return;
	}
	const step = now => {
		const part = Math.min(Math.max((now - begun) / 240, 0), 1), eased = 1 - (1 - part) ** 3;
		moving = part < 1 ? requestAnimationFrame(step) : 0;
		jump(was[0] + (left - was[0]) * eased, was[1] + (right - was[1]) * eased);
	};
	moving = requestAnimationFrame(step);
}

container.addEventListener('click', event => {
	const i = frameOf(event);
	if (i >= 0) {
		focused = i;
		keyed = false;
		zoom(i);
	}
});

// ---- controls

const controls = element(controlsBox, HTML, 'div', 'controls');
const search = element(controls, HTML, 'input');
search.type = 'search';
search.placeholder = 'Search: name or regex';
search.setAttribute('aria-label', 'Search frames by name or regular expression');
const resetButton = element(controls, HTML, 'button', 'reset', 'Reset zoom');
resetButton.hidden = true;
const flipButton = element(controls, HTML, 'button', 'flip', 'Flip');
const helpButton = element(controls, HTML, 'button', 'keys', '?');
const found = element(controls, HTML, 'span', 'found');
found.setAttribute('role', 'status');
flipButton.title = 'Root above or below';
helpButton.title = 'Keys';
helpButton.setAttribute('aria-label', 'Keys');
for (const button of [resetButton, flipButton, helpButton])
	button.type = 'button';
let keyed = false; // the focus is shown only where keys are used

// How much of what is zoomed into is in frames that match, those within others not counted again.
function report() {
	if (!matches) {
		found.textContent = '';
		return;
	}
	let sum = 0, frames = 0;
	for (let i = zoomed, covered = zoomed; i < end[zoomed]; i++) {
		if (!matches[label[i]])
			continue;
		frames++;
		if (i >= covered) {
			sum += total[i];
			covered = end[i];
		}
	}
	found.textContent = shareOf(sum, total[zoomed]) + ' matched, ' + grouped(frames) +
		(frames === 1 ? ' frame' : ' frames') + (zoomed ? ' in ' + names[label[zoomed]].slice(0, 60) : '');
}

function find(pattern) {
	let wanted = null;
	search.classList.remove('bad');
	if (pattern) {
		try {
			wanted = new RegExp(pattern, 'i');
		} catch (fault) {
			search.classList.add('bad');
			wanted = new RegExp(pattern.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'i');
		}
	}
	matches = wanted && names.map(name => wanted.test(name));
	svg.classList.toggle('searching', Boolean(matches));
	report();
	render();
}

function flip() {
	icicle = !icicle;
	resize();
	scrollToRoot();
}

// A tall graph is looked at from its root.
function scrollToRoot() {
	if (alone)
		window.scrollTo(0, icicle ? 0 : document.documentElement.scrollHeight);
}

const keys = [['click, Enter', 'zoom into a frame'], ['Esc', 'zoom out, then clear the search'],
	['arrows, Home', 'to the caller, what it called, neighbours, the root'], ['Tab', 'to the next frame'],
	['/, Ctrl-F', 'search'], ['f', 'root above or below'], ['?', 'this']];

function help(show) {
	helpBox.setAttribute('class', show ? '' : 'unseen');
	helpBox.textContent = '';
	if (!show)
		return;
	const panel = element(helpBox, HTML, 'div', 'help');
	element(panel, HTML, 'h2', '', 'Keys');
	const table = element(element(panel, HTML, 'table'), HTML, 'tbody');
	for (const [key, what] of keys) {
		const line = element(table, HTML, 'tr');
		element(element(line, HTML, 'td'), HTML, 'kbd', '', key);
		element(line, HTML, 'td', '', what);
	}
	helpBox.setAttribute('x', Math.max(width / 2 - 180, 4));
	helpBox.setAttribute('y', Math.max(-svg.getBoundingClientRect().top, 0) + 90);
	helpBox.setAttribute('width', 360);
	helpBox.setAttribute('height', 1);
}

const helpIsShown = () => helpBox.getAttribute('class') !== 'unseen';

search.addEventListener('input', () => find(search.value));
resetButton.addEventListener('click', () => zoom(0));
flipButton.addEventListener('click', flip);
helpButton.addEventListener('click', () => help(!helpIsShown()));

// ---- keys

function focus(i) {
	const before = drawn.get(focused);
	focused = i;
	keyed = true;
	render();
	const made = drawn.get(i);
	if (!made)
		return;
	if (before && before !== made)
		before.group.removeAttribute('aria-label');
	made.group.setAttribute('aria-label', tell(i));
	made.group.focus({ preventScroll: true });
	made.group.scrollIntoView({ block: 'nearest', inline: 'nearest' });
	const box = made.rect.getBoundingClientRect();
	showTip(i, box.left + Math.min(box.width / 2, 40), box.bottom - 10);
}

// The nearest frame that is drawn, in the order of frames, that fits.
function neighbour(i, step, fits) {
	const list = [...drawn.keys()];
	let at = list.indexOf(i);
	if (at < 0)
		return -1;
	for (at += step; at >= 0 && at < list.length; at += step)
		if (fits(list[at]))
			return list[at];
	return -1;
}

const roomOf = i => total[i] / (to - from || 1) * (width - 2 * MARGIN);

function target(event) {
	const inward = icicle ? 'ArrowDown' : 'ArrowUp', outward = icicle ? 'ArrowUp' : 'ArrowDown';
	const level = i => depth[i] === depth[focused];
	switch (event.key) {
	case inward:
		return focused + 1 < end[focused] && drawn.has(focused + 1) ? focused + 1 : -1;
	case outward:
		return parent[focused];
	case 'ArrowLeft':
		return neighbour(focused, -1, level);
	case 'ArrowRight':
		return neighbour(focused, 1, level);
	case 'Home':
		return 0;
	case 'Tab':
		return neighbour(focused, event.shiftKey ? -1 : 1, i => roomOf(i) >= 24);
	default:
		return -1;
	}
}

function escape() {
	if (helpIsShown())
		return help(false);
	hideTip();
	if (zoomed)
		return zoom(0);
	search.value = '';
	find('');
}

function onFrames(event) {
	if (!drawn.has(focused))
		focused = zoomed;
	if (event.key === 'Enter' || event.key === ' ') {
		zoom(focused);
		event.preventDefault();
		return;
	}
	const next = target(event);
	if (next >= 0) {
		focus(next);
		event.preventDefault();
	} else if (event.key.startsWith('Arrow')) {
		event.preventDefault();
	}
}

function onSearch(event) {
	if (event.key === 'Escape') {
		search.value = '';
		find('');
		focus(drawn.has(focused) ? focused : zoomed);
		event.preventDefault();
	} else if (event.key === 'Enter') {
		focus(drawn.has(focused) ? focused : zoomed);
		event.preventDefault();
	}
}

// In a page with other things only keys that are meant for the graph are taken.
function meantForUs(event) {
	return alone || svg.contains(event.target);
}

document.addEventListener('keydown', event => {
	if (!meantForUs(event) || event.altKey)
		return;
	if (event.target === search)
		return event.ctrlKey || event.metaKey ? undefined : onSearch(event);
	const searches = event.key === '/' || ((event.ctrlKey || event.metaKey) && event.key === 'f');
	if (searches) {
		search.focus();
		search.select();
		event.preventDefault();
	} else if (event.ctrlKey || event.metaKey) {
		return;
	} else if (event.key === 'Escape') {
		escape();
		event.preventDefault();
	} else if (event.key === '?') {
		help(!helpIsShown());
	} else if (event.key === 'f') {
		flip();
	} else if (container.contains(event.target)) {
		onFrames(event);
	} else if (event.target === svg || event.target === document.body) {
		if (event.key.startsWith('Arrow'))
			focus(drawn.has(focused) ? focused : zoomed);
	}
});
container.addEventListener('focusin', event => {
	const i = frameOf(event);
	if (i >= 0 && i !== focused || !keyed && event.target.matches(':focus-visible'))
		focus(i);
});
container.addEventListener('focusout', () => {
	hideTip();
});

window.addEventListener('resize', resize);
if (alone)
	window.addEventListener('scroll', () =>
		head.setAttribute('transform', 'translate(0,' + Math.max(window.scrollY, 0) + ')'));
resize();
scrollToRoot();
