import type { Call, CallData, CallInput } from '@berth/contract/call'
import type { Caller, Customer, Outcome } from './caller.ts'
import type { Findings } from './findings.ts'
import type { Operator } from './operator.ts'
import type { Act } from './plan.ts'

/** Whoever carries one act out, and by what. */
export interface Performer {
  customer: Customer
  operator: Operator
  dice: Act['dice']
  /** A uuid of this act alone: the same for each run of its seed. */
  id: string
  /** Makes a call of the customer's until its answer stands; each call of one act has a key of its own. */
  ask<C extends Call>(call: C, input: CallInput<C>): Promise<Outcome<CallData<C>>>
  sendForm: Caller['sendForm']
  /** Loses a running machine behind everybody's back. @returns Whether there was one. */
  loseMachine(id: string): boolean
  /** Gets what must never be. */
  wrong: Pick<Findings, 'add'>
}
