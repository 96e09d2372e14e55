// SPDX-License-Identifier: Apache-2.0
// Gives a file to the importer of npm's speedscope, as dropping it on the page would, and prints what it made of it as
// JSON; the tests judge it. The package ships its page only: that is run here without a browser, as far as to the
// point where it has its importer, which it names in a table of its own.
//     node speedscope_import.js FILE [--stacks]
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

function bundle() {
	const folder = path.join(path.dirname(require.resolve('speedscope/package.json')), 'dist', 'release');
	const name = fs.readdirSync(folder).find(file => /^speedscope-.*\.js$/.test(file));
	if (!name)
		throw new Error(`no speedscope-*.js in ${folder}`);
	return path.join(folder, name);
}

// The functions of the importer: they are seen when the bundle defines its table of exports.
async function importer() {
	const file = bundle(), exported = {};
	const silent = new Proxy(console, { get: () => () => {} });
	const window = { location: { hash: '', href: 'http://localhost/', protocol: 'http:' }, localStorage: {},
		addEventListener() {}, removeEventListener() {}, devicePixelRatio: 1 };
	const document = { body: {}, createElement: () => ({ style: {} }) };
	const context = vm.createContext({ window, self: window, document, console: silent, navigator: { userAgent: '' },
		matchMedia: () => ({ matches: false, addListener() {}, addEventListener() {} }), requestAnimationFrame() {},
		setTimeout, clearTimeout, TextDecoder, TextEncoder, URL, DOMParser: class {}, atob, btoa, fetch, WebAssembly,
		seen: (name, getter) => { exported[name] = getter; } });
	vm.runInContext(`{
		const define = Object.defineProperty;
		Object.defineProperty = (object, name, description) => {
			if (description && description.get && /^import[A-Z]/.test(name))
				seen(name, description.get);
			return define(object, name, description);
		};
	}`, context);
	let fault = null;
	try {
		vm.runInContext(fs.readFileSync(file, 'utf8'), context, { filename: file });
	} catch (thrown) {
		fault = thrown;	// drawing the page fails here; the importer is there by then
	}
	await new Promise(resolve => setTimeout(resolve, 0));
	if (!exported.importProfilesFromArrayBuffer)
		throw fault || new Error(`${file} has no importProfilesFromArrayBuffer`);
	// The buffer must be one of that world: `instanceof` is asked.
	const Bytes = vm.runInContext('Uint8Array', context);
	return (name, bytes) => exported.importProfilesFromArrayBuffer()(name, new Bytes(bytes).buffer);
}

function frames(profile) {
	const all = [];
	profile.forEachFrame(frame => all.push({ name: frame.name, file: frame.file, line: frame.line, column: frame.col,
		self: frame.getSelfWeight(), total: frame.getTotalWeight() }));
	return all;
}

// Every maximal run of one frame at one depth: how many there are, how deep they go and, if asked for, each.
function stacks(profile, wanted) {
	const open = [], calls = [];
	let count = 0, depth = 0;
	profile.forEachCall((node, at) => {
		open.push({ name: node.frame.name, from: at, depth: open.length });
		count++;
		depth = Math.max(depth, open.length);
	}, (node, at) => {
		const call = open.pop();
		if (wanted)
			calls.push({ ...call, to: at });
	});
	return wanted ? { calls: count, depth, stacks: calls } : { calls: count, depth };
}

async function main() {
	const [file, ...options] = process.argv.slice(2);
	const group = await (await importer())(path.basename(file), fs.readFileSync(file));
	if (!group)
		throw new Error(`speedscope does not know what ${file} is`);
	console.log(JSON.stringify({ name: group.name, active: group.indexToView,
		profiles: group.profiles.map(profile => ({ name: profile.getName(), unit: profile.getWeightUnit(),
			total: profile.getTotalWeight(), idle: profile.getTotalWeight() - profile.getTotalNonIdleWeight(),
			frames: frames(profile), samples: profile.samples.length,
			...stacks(profile, options.includes('--stacks')) })) }));
}

main().catch(fault => {
	console.error(fault);
	process.exit(1);
});
