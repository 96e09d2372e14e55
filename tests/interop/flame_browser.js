// SPDX-License-Identifier: Apache-2.0
// Uses what `sonde flame` and `sonde report --html` wrote in a headless Chromium, as a user would, and prints
// what it saw as JSON; test_flame.py judges it.
//     node flame_browser.js BROWSER graph FILE.svg PATTERN FRAME
//     node flame_browser.js BROWSER static FILE.svg
//     node flame_browser.js BROWSER page FILE.html PATTERN
'use strict';
const { chromium } = require('playwright-core');

// The animation of a zoom is over.
const SETTLED = 400;

const drawn = page => page.evaluate(() => [...document.querySelectorAll('.sonde-flame .frame')]
	.filter(group => !group.classList.contains('unseen'))
	.map(group => ({
		text: (group.querySelector('text') || {}).textContent || '',
		x: Number(group.querySelector('rect').getAttribute('x')),
		y: Number(group.querySelector('rect').getAttribute('y')),
		width: Number(group.querySelector('rect').getAttribute('width')),
		classes: group.getAttribute('class').split(' '),
	})));

const focus = page => page.evaluate(() => {
	const at = document.activeElement || document.documentElement;
	return { tag: at.localName, label: at.getAttribute('aria-label') || '' };
});

const found = page => page.evaluate(() => document.querySelector('.sonde-flame .found').textContent);

async function press(page, ...keys) {
	for (const key of keys)
		await page.keyboard.press(key);
	await page.waitForTimeout(SETTLED);
}

async function searches(page, pattern) {
	const seen = {};
	await press(page, '/');
	seen.focus = await focus(page);
	await page.keyboard.type(pattern);
	seen.found = await found(page);
	seen.frames = await drawn(page);
	await press(page, 'Enter');
	seen.afterEnter = await focus(page);
	await press(page, 'Escape');
	seen.cleared = await found(page);
	await press(page, 'Control+f');
	seen.controlF = await focus(page);
	await page.keyboard.type('([');
	seen.bad = await page.evaluate(() => document.querySelector('.sonde-flame input').classList.contains('bad'));
	seen.badFound = await found(page);
	await press(page, 'Escape');
	return seen;
}

async function zooms(page, frame) {
	const seen = { before: await drawn(page) };
	await page.locator('.sonde-flame .frame:not(.unseen) text', { hasText: frame }).first().click({ force: true });
	await page.waitForTimeout(SETTLED);
	seen.zoomed = await drawn(page);
	seen.button = await page.locator('.sonde-flame .reset').isVisible();
	await page.locator('.sonde-flame .reset').click();
	await page.waitForTimeout(SETTLED);
	seen.after = await drawn(page);
	seen.buttonAfter = await page.locator('.sonde-flame .reset').isVisible();
	return seen;
}

async function keys(page) {
	const seen = { path: [] };
	await page.evaluate(() => document.activeElement && document.activeElement.blur());
	await press(page, 'ArrowUp');
	for (const key of ['Home', 'ArrowUp', 'ArrowUp', 'ArrowRight', 'ArrowUp', 'ArrowRight', 'ArrowLeft', 'ArrowDown',
		'Tab', 'Shift+Tab']) {
		await press(page, key);
		seen.path.push((await focus(page)).label);
	}
	await press(page, 'ArrowUp', 'Enter');
	seen.zoomed = (await drawn(page)).map(frame => frame.text);
	seen.zoomedLabel = (await focus(page)).label;
	await press(page, 'Escape');
	seen.reset = (await drawn(page)).map(frame => frame.text);
	await press(page, '?');
	seen.help = await page.locator('.sonde-flame .help').isVisible();
	await press(page, 'Escape');
	seen.helpAfter = await page.locator('.sonde-flame .help').count();
	await press(page, 'f');
	seen.flipped = await drawn(page);
	await press(page, 'f');
	return seen;
}

async function looks(page) {
	const fill = () => page.evaluate(() => getComputedStyle(document.querySelector('.sonde-flame .background')).fill);
	const seen = { light: await fill() };
	await page.emulateMedia({ colorScheme: 'dark' });
	seen.dark = await fill();
	await page.emulateMedia({ colorScheme: 'light' });
	await page.setViewportSize({ width: 700, height: 600 });
	await page.waitForTimeout(SETTLED);
	seen.narrow = await drawn(page);
	await page.setViewportSize({ width: 1200, height: 800 });
	await page.waitForTimeout(SETTLED);
	return seen;
}

async function graph(page, pattern, frame) {
	const seen = { first: await drawn(page) };
	seen.search = await searches(page, pattern);
	seen.zoom = await zooms(page, frame);
	await page.locator('.sonde-flame .frame:not(.unseen) text', { hasText: frame }).first().hover({ force: true });
	await page.waitForTimeout(SETTLED);
	seen.tip = await page.evaluate(() => document.querySelector('.sonde-flame .tip').innerText);
	await page.mouse.move(2, 2);
	seen.keys = await keys(page);
	seen.looks = await looks(page);
	return seen;
}

const rows = page => page.evaluate(() => [...document.querySelector('table.report').tBodies[0].rows]
	.filter(row => !row.hidden)
	.map(row => [...row.cells].map(cell => cell.textContent)));

async function tables(page, pattern) {
	const seen = { heads: await page.evaluate(() =>
		[...document.querySelectorAll('table.report')[0].tHead.rows[0].cells].map(cell => cell.textContent)) };
	seen.first = await rows(page);
	await page.locator('table.report').first().locator('th button').first().click();
	seen.byName = await rows(page);
	await page.locator('.tools input').first().fill(pattern);
	seen.filtered = await rows(page);
	const tree = page.locator('table.tree tbody tr:visible');
	seen.tree = await tree.count();
	await page.getByText('Fold all', { exact: true }).click();
	seen.folded = await tree.count();
	await page.locator('.sonde-flame input').fill(pattern);
	seen.found = await found(page);
	return seen;
}

async function main() {
	const [executablePath, what, file, ...rest] = process.argv.slice(2);
	const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
	const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, colorScheme: 'light',
		javaScriptEnabled: what !== 'static' });
	const page = await context.newPage(), faults = [], requests = [];
	page.on('pageerror', fault => faults.push(fault.message));
	page.on('console', message => message.type() === 'error' && faults.push(message.text()));
	page.on('request', request => requests.push(request.url()));
	await page.goto('file://' + file);
	const seen = what === 'graph' ? await graph(page, ...rest) : what === 'page' ? await tables(page, ...rest) : {};
	if (what === 'static')
		seen.content = await page.content();
	console.log(JSON.stringify({ ...seen, faults, requests: requests.length }));
	await browser.close();
}

main().catch(fault => {
	console.error(fault);
	process.exit(1);
});
