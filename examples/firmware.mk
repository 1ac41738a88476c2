# Two commands for a model on a microcontroller, from the folder of an example that sets NAME, MODEL and INPUT:
#   make run        compile it, run it on the emulated processor and here, and compare the results
#   make firmware   package it, build a firmware of the package and main.c, and run that on the emulated processor
# CPU=cortex-m4 or cortex-m3 is for another processor, COMPILER=clang for the other compiler of the firmware.
CPU ?= cortex-m55
COMPILER ?= gcc
COMPILE_FLAGS ?= --require-full-delegation
TOP := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))..)
WICK ?= $(TOP)/build/release/bin/wick
OUT ?= $(TOP)/build/examples/$(NAME)-$(CPU)
PROGRAM = $(OUT)/$(NAME).pte

run: $(PROGRAM)
	$(WICK) run $(PROGRAM) -i $(INPUT) --device qemu-$(CPU)
	$(WICK) compare $(PROGRAM) -i $(INPUT) --device qemu-$(CPU)

firmware: $(PROGRAM)
	$(WICK) package $(PROGRAM) -o $(OUT)/firmware --name $(NAME) -i $(INPUT) --force $(PACKAGE_FLAGS)
	$(TOP)/scripts/run_package.sh $(OUT)/firmware $(COMPILER) $(abspath main.c)

$(PROGRAM): $(MODEL)
	@mkdir -p $(OUT)
	$(WICK) compile $(MODEL) -o $@ --backend cortex-m --cpu $(CPU) $(COMPILE_FLAGS)

clean:
	rm -rf $(OUT)

.PHONY: run firmware clean
