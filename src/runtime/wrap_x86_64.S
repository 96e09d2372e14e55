/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of libc and of the C++ runtime that the recorder must hear about before they run. Each
 * tells its helper in wrappers.c, which gives the address of the real one, and jumps there: the
 * real function sees its caller's frame and return address as if we were not here. That matters
 * to swapcontext() and dlopen(), and the others need no frame of ours to unwind either.
 */
	.text

/* The helper gets the first two arguments, the caller's stack pointer and the return address. */
.macro WRAP name
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	endbr64
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	pushq	%rcx
	.cfi_adjust_cfa_offset 8
	pushq	%r8
	.cfi_adjust_cfa_offset 8
	pushq	%r9
	.cfi_adjust_cfa_offset 8
	leaq	56(%rsp), %rdx
	movq	48(%rsp), %rcx
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	rt_wrap_\name
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%r9
	.cfi_adjust_cfa_offset -8
	popq	%r8
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
	.cfi_endproc
	.size	\name, . - \name
.endm

	WRAP longjmp
	WRAP _longjmp
	WRAP siglongjmp
	WRAP __longjmp_chk
	WRAP setcontext
	WRAP swapcontext
	WRAP pthread_create
	WRAP pthread_exit
	WRAP dlopen
	WRAP dlmopen
	WRAP dlsym
	WRAP __cxa_throw
	WRAP __cxa_rethrow
	WRAP __cxa_begin_catch

	.section .note.GNU-stack, "", @progbits
