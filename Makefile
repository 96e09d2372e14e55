# SPDX-License-Identifier: Apache-2.0
# A thin front to meson and the scripts in tools/. `make help` lists what there is.

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 600

.PHONY: all build demo test lint format bench fuzz man pictures install clean help

all: build

build: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@tools/setup.sh build
	@meson setup $(BUILD) --prefix=$(PREFIX) -Dtests=auto

help:
	@echo 'make            build the command and the library into $(BUILD)/'
	@echo 'make demo       install what is missing, build, and show what sonde does'
	@echo 'make test       all tests: gcc, clang with sanitizers, a short fuzz run'
	@echo 'make lint       formatting, static analysis, shell scripts'
	@echo 'make bench      measure speed and memory, on BENCH_EVENTS=50000000 events'
	@echo 'make fuzz       fuzz every target for FUZZ_SECONDS=$(FUZZ_SECONDS) each'
	@echo 'make format     let clang-format rewrite the sources'
	@echo 'make man        regenerate doc/man from the option tables'
	@echo 'make pictures   regenerate doc/img from what the commands print'
	@echo 'make install    install under PREFIX=$(PREFIX), below DESTDIR if given'
	@echo 'make clean      remove all build folders'

demo:
	@tools/setup.sh build
	@tools/demo.sh

test:
	@tools/setup.sh build test
	@tools/test.py

lint:
	@tools/setup.sh build test lint
	@tools/lint.py

bench:
	@tools/setup.sh build test bench
	@[ -e $(BUILD)-bench/build.ninja ] || meson setup $(BUILD)-bench -Dtests=disabled >/dev/null
	@bench/run.sh $(BUILD)-bench

fuzz:
	@tools/setup.sh build test
	@tools/test.py --fuzz $(FUZZ_SECONDS)

format:
	@tools/setup.sh lint
	@tools/lint.py --format

man: build
	@tools/man.sh $(BUILD)/sonde doc/man

pictures: demo
	@tools/screenshot.py doc/img/sonde.svg demo 'cc $$(sonde cflags) calc.c -o calc' \
		"sonde record ./calc '1 + 2 * 3'" \
		'sonde info calc.atf' \
		'sonde report calc.atf'

install: build
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD)

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-fuzz $(BUILD)-bench demo
