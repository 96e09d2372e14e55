# SPDX-License-Identifier: Apache-2.0
"""What each format can hold, from the documents of the formats and not from the program: the tests of
conversions take it for the truth. A format that is not listed is taken at its word (`sonde formats
--json`), which a line here makes a test of.
"""
import json
import subprocess

KINDS = ("calls", "exceptions", "instants", "marks", "flows", "ranges", "counters", "other events")
LANES = ("arguments", "samples", "contexts", "values", "resources")
FACTS = ("ids of processes", "machines of processes", "clocks of processes", "names of tracks", "ids of threads",
         "zones", "GPU streams", "modules of functions", "build ids and places of modules",
         "source places of functions", "names before demangling", "numbers of dropped events", "attributes",
         "registers and stack bytes", "arguments of returns, and of calls that are no scopes")
ALL = KINDS + LANES + FACTS

EVENTS = set(KINDS) | {"arguments", "resources"}
PROFILE = {"samples", "contexts", "values"}

HOLDS = {
    "atf": EVENTS | set(FACTS),
    "cff": (EVENTS | set(FACTS)) - {"registers and stack bytes", "other events",
                                    "arguments of returns, and of calls that are no scopes"},
    "zts": {"calls", "exceptions", "arguments", "names before demangling",
            "arguments of returns, and of calls that are no scopes"},
    "hpcrun": PROFILE | {"resources", "ids of processes", "GPU streams"},
    "hpcdb": PROFILE | {"GPU streams", "modules of functions", "source places of functions"},
    # Slices end without a word on why, but an annotation of ours tells that it was an exception; annotations may
    # stand at begins and ends. Samples have stacks, which are the only contexts; nothing is summed up, and no file
    # is embedded. Descriptors and frames name mappings by their path here, and registers are no part of a sample.
    "perfetto": (EVENTS - {"other events", "resources"}) | {"samples", "contexts"} | (
        set(FACTS) - {"build ids and places of modules", "registers and stack bytes"}),
    # Frames that open and close, and stacks with weights. The document allows more members than it names: who
    # there is lies in one of ours, which has no attributes.
    "speedscope": {"calls", "exceptions"} | PROFILE | (
        set(FACTS) - {"build ids and places of modules", "attributes", "registers and stack bytes",
                      "arguments of returns, and of calls that are no scopes"}),
}
HOLDS["cff-json"] = HOLDS["cff"]

# Which thread an event was on: everything else shows its events where they were.
WITHOUT_TRACKS = {"zts"}


def formats(sonde):
    """What `sonde formats --json` says, by name."""
    done = subprocess.run([sonde, "formats", "--json"], check=True, stdout=subprocess.PIPE)
    return {entry["name"]: entry for entry in json.loads(done.stdout)}


def held(entry):
    """What a format holds when it is written."""
    return HOLDS.get(entry["name"], set(entry["writes_what"]))
