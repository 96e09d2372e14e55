/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where patched functions lead: rt_entry at their beginning, rt_exit at their end. All registers
 * but the flags come out as they went in; vector registers are not touched here nor in
 * returns.c, and the functions with _kept save them for the rest. The unwinding information lets
 * everything that unwinds pass through rt_exit to the original return address.
 */
	.text
	.hidden	rt_entry, rt_exit, rt_entry_hook, rt_exit_hook, rt_returns
	.globl	rt_entry, rt_exit

.macro push_registers
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	pushq	%r11
	.cfi_adjust_cfa_offset 8
	pushq	%r10
	.cfi_adjust_cfa_offset 8
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	pushq	%r9
	.cfi_adjust_cfa_offset 8
	pushq	%r8
	.cfi_adjust_cfa_offset 8
	pushq	%rcx
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
.endm

.macro pop_registers
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	popq	%r8
	.cfi_adjust_cfa_offset -8
	popq	%r9
	.cfi_adjust_cfa_offset -8
	popq	%rax
	.cfi_adjust_cfa_offset -8
	popq	%r10
	.cfi_adjust_cfa_offset -8
	popq	%r11
	.cfi_adjust_cfa_offset -8
	popq	%rbp
	.cfi_adjust_cfa_offset -8
.endm

/*
 * The code from here to the end of rt_exit lies in one block of 256 bytes, so that the unwinding
 * information finds the distance to rt_returns from any program counter in it.
 */
	.p2align 8
block:
	.quad	rt_returns - block

	.cfi_startproc
	.cfi_def_cfa_offset 16
not_hooked:
	leaq	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	jmp	*-8(%rsp) /* signal handlers leave 128 bytes below the stack pointer alone */

	.type	rt_entry, @function
rt_entry:
	.cfi_def_cfa_offset 16 /* the thunk pushed its word */
	push_registers
	movq	%rsp, %rdi
	call	rt_entry_hook
	testb	%al, %al
	pop_registers /* keeps the flags */
	jz	not_hooked
	leaq	16(%rsp), %rsp
	.cfi_endproc
	.size	rt_entry, . - rt_entry

/*
 * A frame between the function and its caller, as unwinders see it: it has no size, and its
 * return address is the one that rt_returns has for its slot. The value less 1 and the mark as
 * a signal frame belong together: the caller is then looked up at exactly that address, which is
 * within its call instruction; and without the mark the unwinder could not tell this frame from
 * the caller, whose stack pointer is the same. From the slot, the expression computes
 *
 *   top = *(block + *block + (slot >> 32) * 8)
 *   leaf = *(top + ((slot >> 16) & 0xffff) * 8)
 *   *(leaf + (slot & 0xfff8) * 2) - 1
 */
#define OP_deref 0x06
#define OP_const1u 0x08
#define OP_const2u 0x0a
#define OP_const2s 0x0b
#define OP_dup 0x12
#define OP_over 0x14
#define OP_swap 0x16
#define OP_and 0x1a
#define OP_minus 0x1c
#define OP_plus 0x22
#define OP_shl 0x24
#define OP_shr 0x25
#define OP_lit(n) (0x30 + n)
#define OP_program_counter 0x80, 0 /* breg16 + 0 */
#define CFA_val_expression 0x16
#define RETURN_ADDRESS 16

	.type	rt_exit, @function
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa_offset 0
	.cfi_escape CFA_val_expression, RETURN_ADDRESS, 41, \
		OP_lit(8), OP_minus, \
		OP_dup, OP_const1u, 32, OP_shr, OP_lit(3), OP_shl, \
		OP_program_counter, OP_const2s, 0x00, 0xff, OP_and, \
		OP_dup, OP_deref, OP_plus, OP_plus, OP_deref, \
		OP_over, OP_lit(16), OP_shr, OP_const2u, 0xff, 0xff, OP_and, \
		OP_lit(3), OP_shl, OP_plus, OP_deref, \
		OP_swap, OP_const2u, 0xf8, 0xff, OP_and, OP_lit(1), OP_shl, OP_plus, OP_deref, \
		OP_lit(1), OP_minus
	call	*-16(%rsp) /* the address that rt_entry_hook() left; pushes rt_exit into the slot */
rt_exit:
	leaq	-16(%rsp), %rsp
	.cfi_adjust_cfa_offset 16
	push_registers
	movq	%rsp, %rdi
	call	rt_exit_hook /* puts the original back into the slot */
	pop_registers
	leaq	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	rt_exit, . - rt_exit
	.org	block + 256

/*
 * Functions of the runtime for callers whose vector registers are in use: saves x87, SSE, AVX and
 * AVX-512 state as far as the machine has it. See rt_vectors_start().
 */
	.hidden	rt_vectors_size, rt_vectors_mask, rt_vectors_how

.macro kept name
	.hidden	\name, \name\()_kept
	.globl	\name\()_kept
	.type	\name\()_kept, @function
\name\()_kept:
	.cfi_startproc
	leaq	\name(%rip), %r11
	jmp	call_kept
	.cfi_endproc
	.size	\name\()_kept, . - \name\()_kept
.endm

	kept	rt_record
	kept	rt_record_at
	kept	rt_place_slow
	kept	rt_patch_leave

/* r11: the function to call; it takes up to five arguments. */
	.type	call_kept, @function
	.p2align 4
call_kept:
	.cfi_startproc
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq	rt_vectors_size(%rip), %rsp
	andq	$-64, %rsp
	movq	%rdx, %r9
	xorl	%edx, %edx
	movl	rt_vectors_mask(%rip), %eax
	movl	rt_vectors_how(%rip), %r10d
	testl	%r10d, %r10d
	jz	1f
	/* The header must be 0 where the instruction does not write it. */
	movq	%rdx, 512(%rsp)
	movq	%rdx, 520(%rsp)
	movq	%rdx, 528(%rsp)
	movq	%rdx, 536(%rsp)
	movq	%rdx, 544(%rsp)
	movq	%rdx, 552(%rsp)
	movq	%rdx, 560(%rsp)
	movq	%rdx, 568(%rsp)
	cmpl	$1, %r10d
	je	2f
	xsavec64 (%rsp)
	jmp	3f
1:
	fxsave64 (%rsp)
	jmp	3f
2:
	xsave64	(%rsp)
3:
	movq	%r9, %rdx
	call	*%r11
	movq	%rax, %rcx
	cmpl	$0, rt_vectors_how(%rip)
	je	4f
	xorl	%edx, %edx
	movl	rt_vectors_mask(%rip), %eax
	xrstor64 (%rsp)
	jmp	5f
4:
	fxrstor64 (%rsp)
5:
	movq	%rcx, %rax
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	call_kept, . - call_kept

	.section .note.GNU-stack, "", @progbits
