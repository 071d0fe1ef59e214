/** Instructions of classic BPF that a filter needs, as <linux/bpf_common.h> numbers them. */
const LOAD = 0x20 // BPF_LD | BPF_W | BPF_ABS
const JUMP_IF_EQUAL = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
const JUMP_IF_AT_LEAST = 0x35 // BPF_JMP | BPF_JGE | BPF_K
const JUMP_IF_ANY_BIT = 0x45 // BPF_JMP | BPF_JSET | BPF_K
const RETURN = 0x06 // BPF_RET | BPF_K

/** What a filter answers, as <linux/seccomp.h> numbers it. */
const ALLOW = 0x7fff0000
const ERRNO = 0x00050000
const KILL_PROCESS = 0x80000000

/** Where <linux/seccomp.h> puts what a call is made of; of each argument the lower half comes first. */
const AT_CALL = 0
const AT_PROCESSOR = 4
const AT_ARGUMENTS = 16
const ARGUMENT_BYTES = 8

const INSTRUCTION_BYTES = 8
/** A jump is told in one byte. */
const JUMP_MAX = 255

interface Instruction {
  code: number
  ifTrue: number
  ifFalse: number
  value: number
}

type Part = (filter: FilterProgram) => unknown

/**
 * Writes a filter of system calls, an instruction after the other. A part that hangs on a condition is passed over
 * where it does not hold; one that does not end with an answer goes on behind it.
 */
export class FilterProgram {
  readonly #instructions: Instruction[] = []

  loadCall(): this {
    return this.#add(LOAD, AT_CALL)
  }

  loadProcessor(): this {
    return this.#add(LOAD, AT_PROCESSOR)
  }

  /** The lower 32 bits of an argument, counted from 0. */
  loadArgument(index: number): this {
    return this.#add(LOAD, AT_ARGUMENTS + index * ARGUMENT_BYTES)
  }

  ifEqual(value: number, part: Part): this {
    return this.#onlyIf(JUMP_IF_EQUAL, value, part)
  }

  unlessEqual(value: number, part: Part): this {
    return this.#onlyIf(JUMP_IF_EQUAL, value, part, { negated: true })
  }

  ifAtLeast(value: number, part: Part): this {
    return this.#onlyIf(JUMP_IF_AT_LEAST, value, part)
  }

  ifAnyBit(bits: number, part: Part): this {
    return this.#onlyIf(JUMP_IF_ANY_BIT, bits, part)
  }

  allow(): this {
    return this.#add(RETURN, ALLOW)
  }

  /** The call fails with this error, and nothing is done. */
  refuse(errno: number): this {
    return this.#add(RETURN, ERRNO | errno)
  }

  /** The process ends at once. */
  kill(): this {
    return this.#add(RETURN, KILL_PROCESS)
  }

  /** As `struct sock_filter[]` of a little-endian processor. */
  toBuffer(): Buffer {
    const bytes = Buffer.alloc(this.#instructions.length * INSTRUCTION_BYTES)
    for (const [index, { code, ifTrue, ifFalse, value }] of this.#instructions.entries()) {
      const at = index * INSTRUCTION_BYTES
      bytes.writeUInt16LE(code, at)
      bytes.writeUInt8(ifTrue, at + 2)
      bytes.writeUInt8(ifFalse, at + 3)
      bytes.writeUInt32LE(value >>> 0, at + 4)
    }
    return bytes
  }

  #onlyIf(code: number, value: number, part: Part, { negated = false } = {}): this {
    const inner = new FilterProgram()
    part(inner)
    const over = inner.#instructions.length
    if (over > JUMP_MAX) throw new RangeError('a part of a filter is longer than a jump')
    const jump = negated ? { ifTrue: over, ifFalse: 0 } : { ifTrue: 0, ifFalse: over }
    this.#instructions.push({ code, value, ...jump }, ...inner.#instructions)
    return this
  }

  #add(code: number, value: number): this {
    this.#instructions.push({ code, ifTrue: 0, ifFalse: 0, value })
    return this
  }
}
